//! `pagemill mrc --policy` as a user runs it.

mod common;

use std::path::Path;

use common::run_in;
use serde_json::Value;

/// Requests of libCacheSim's format: object and bytes.
fn oracle_general(requests: &[(u64, u32)]) -> Vec<u8> {
    let record = |(object, bytes): &(u64, u32)| {
        [
            &0_u32.to_le_bytes()[..],
            &object.to_le_bytes(),
            &bytes.to_le_bytes(),
            &(-1_i64).to_le_bytes(),
        ]
        .concat()
    };
    requests.iter().flat_map(record).collect()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let all = [&["mrc", "--format", "json"], arguments].concat();
    serde_json::from_str(&run_in(folder, &all).result()).expect("JSON")
}

fn numbers(json: &Value, column: &str) -> Vec<f64> {
    let rows = json["rows"].as_array().expect("rows");
    let number = |row: &Value| row[column].as_f64().expect("a number");
    rows.iter().map(number).collect()
}

/// Object 1 of 10 bytes stays hot while 2 to 5 of 30 bytes pass by.
fn hot_and_passing() -> Vec<(u64, u32)> {
    let round = |object| [(1, 10), (1, 10), (object, 30)];
    [2, 3, 4, 5].into_iter().flat_map(round).collect()
}

#[test]
fn policies_differ_where_they_should() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("t.bin"),
        oracle_general(&hot_and_passing()),
    )
    .expect("a trace");
    let found = json(
        folder.path(),
        &[
            "t.bin",
            "--trace-format",
            "oracle-general",
            "--policy",
            "lru,fifo",
            "--sizes",
            "40,100%",
        ],
    );
    // 130 bytes in all. In 40 bytes, least-recently-used always has object 1; first in, first out lets it go.
    assert_eq!(numbers(&found, "cache_bytes"), [40.0, 130.0, 40.0, 130.0]);
    assert_eq!(numbers(&found, "references"), [12.0; 4]);
    let misses = numbers(&found, "misses");
    assert_eq!(
        (misses[0], misses[1], misses[3]),
        (5.0, 5.0, 5.0),
        "{found}"
    );
    // Object 1 is missed once more, after 3 took its place.
    assert_eq!(misses[2], 6.0, "{found}");
    let byte_ratios = numbers(&found, "byte_miss_ratio");
    assert!((byte_ratios[0] - 130.0 / 200.0).abs() < 1e-12, "{found}");
    assert_eq!(found["summary"]["facts"]["task_0_objects"], 5);
}

#[test]
fn tables_are_traces_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = hot_and_passing();
    let rows = rows
        .iter()
        .map(|(object, bytes)| format!("x;o{object};{bytes}\n"));
    let text = format!("time;object;size\n{}", rows.collect::<String>());
    std::fs::write(folder.path().join("t.csv"), text).expect("a trace");
    let columns = "object=2,bytes=3,header,delimiter=;";
    let options = [
        "t.csv", "--csv", columns, "--policy", "lru", "--sizes", "40",
    ];
    assert_eq!(numbers(&json(folder.path(), &options), "misses"), [5.0]);
    let counted = [&options[..], &["--ignore-sizes"]].concat();
    let found = json(folder.path(), &counted);
    assert_eq!(numbers(&found, "cache_objects"), [40.0]);
    assert_eq!(numbers(&found, "misses"), [5.0]);
}

#[test]
fn lines_of_memory_have_sets() {
    let folder = tempfile::tempdir().expect("a folder");
    // Three lines of set 1 in turn. In 2 ways, the tree always lets go what is next, and the bimodal policy, which this set
    // leads, keeps one; in 4 ways, all fit.
    let text = " L 40,8\n L 1040,8\n L 2040,8\n".repeat(50);
    std::fs::write(folder.path().join("t.txt"), text).expect("a trace");
    let misses = |ways, size| {
        let options = [
            "t.txt",
            "--policy",
            "tree-plru,drrip",
            "--ways",
            ways,
            "--sizes",
            size,
        ];
        numbers(&json(folder.path(), &options), "misses")
    };
    assert_eq!(misses("4", "4KiB"), [3.0, 3.0]);
    let two = misses("2", "2KiB");
    assert!(two[0] > 100.0 && two[1] < two[0], "{two:?}");
}

#[test]
fn a_sample_is_near_and_the_same_every_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests: Vec<(u64, u32)> = (0..60_000_u64)
        .map(|number| (number.wrapping_mul(number + 7) % 9001, 1))
        .collect();
    std::fs::write(folder.path().join("t.bin"), oracle_general(&requests)).expect("a trace");
    for sample in [["--sample-rate", "0.2"], ["--sample-objects", "1200"]] {
        let fixed = [
            "t.bin",
            "--trace-format",
            "oracle-general",
            "--policy",
            "lru,s3-fifo,arc",
            "--exact",
        ];
        let options = [&fixed[..], &sample].concat();
        let found = json(folder.path(), &options);
        assert_eq!(found, json(folder.path(), &options));
        let exact = numbers(&found, "exact_miss_ratio");
        for (near, exact) in numbers(&found, "miss_ratio").into_iter().zip(exact) {
            assert!((near - exact).abs() < 0.08, "{near} {exact}: {found}");
        }
        let errors = numbers(&found, "miss_ratio_standard_error");
        assert!(errors.iter().any(|error| *error > 0.0), "{found}");
        let objects = found["summary"]["facts"]["task_0_objects"]
            .as_u64()
            .expect("a count");
        assert!(objects <= 2200, "{objects}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.bin"), oracle_general(&[(1, 1)])).expect("a trace");
    std::fs::write(folder.path().join("t.txt"), " L 0,8\n").expect("a trace");
    let error = |options: &[&str]| run_in(folder.path(), &[&["mrc"], options].concat()).error(2);
    let said = error(&["t.txt", "--policy", "belady"]);
    assert!(
        said.contains("use one of lru, fifo, clock, s3-fifo, arc, tree-plru, drrip"),
        "{said}"
    );
    let said = error(&[
        "t.bin",
        "--trace-format",
        "oracle-general",
        "--policy",
        "drrip",
        "--sizes",
        "4KiB",
    ]);
    assert!(said.contains("drrip is for processor caches"), "{said}");
    let said = error(&[
        "t.txt",
        "--policy",
        "tree-plru",
        "--ways",
        "3",
        "--sizes",
        "4KiB",
    ]);
    assert!(said.contains("power of two from 1 to 64"), "{said}");
    let said = error(&["t.txt", "--policy", "tree-plru", "--ways", "4"]);
    assert!(said.contains("needs sizes in bytes"), "{said}");
    let said = error(&["t.txt", "--policy", "lru", "--sizes", "0%"]);
    assert!(said.contains("use a share above 0"), "{said}");
    let said = error(&["t.txt", "--policy", "lru", "--sample-rate", "2"]);
    assert!(
        said.contains("a sample of 2 is not between 0 and 1"),
        "{said}"
    );
    let said = error(&["t.txt", "--csv", "object=1,hue=2", "--policy", "lru"]);
    assert!(said.contains("`hue=2` describes no column"), "{said}");
    error(&["t.txt", "--sizes", "4KiB"]);
    error(&["t.txt", "--policy", "lru", "--cache", "6MiB"]);
    let said = error(&["/dev/null", "--policy", "lru", "--trace-format", "lackey"]);
    assert!(said.contains("which a pipe does not allow"), "{said}");
}
