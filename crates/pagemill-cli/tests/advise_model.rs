//! `pagemill advise MODEL`: tokens a second of models whose weights are holes in a file.

mod common;

use std::fs::{self, File};
use std::path::Path;

use common::run_in;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A GGUF of half-precision matrices: embeddings, an output, and layers of `layer_mib` each.
fn gguf(path: &Path, layers: u64, layer_mib: u64, has_output: bool) {
    let mut tensors = vec![("token_embd.weight".to_owned(), 16 * MIB)];
    if has_output {
        tensors.push(("output.weight".to_owned(), 16 * MIB));
    }
    tensors
        .extend((0..layers).map(|layer| (format!("blk.{layer}.ffn_up.weight"), layer_mib * MIB)));
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend(1u64.to_le_bytes());
    // An array of two strings.
    file.extend(text("tokenizer.ggml.tokens"));
    file.extend([9u32.to_le_bytes(), 8u32.to_le_bytes()].concat());
    file.extend(2u64.to_le_bytes());
    file.extend([text("a"), text("b")].concat());
    let mut offset = 0;
    for (name, bytes) in &tensors {
        file.extend(text(name));
        file.extend(2u32.to_le_bytes());
        // Rows of 1024 numbers of two bytes.
        file.extend([1024u64.to_le_bytes(), (bytes / 2048).to_le_bytes()].concat());
        file.extend(1u32.to_le_bytes());
        file.extend(u64::to_le_bytes(offset));
        offset += bytes;
    }
    let data = (file.len() as u64).next_multiple_of(32);
    fs::write(path, file).expect("a header");
    let holes = File::options().write(true).open(path).expect("the file");
    holes.set_len(data + offset).expect("weights");
}

/// The same model without an output, as safetensors.
fn safetensors(path: &Path, layers: u64, layer_mib: u64) {
    let mut table = serde_json::json!({ "__metadata__": { "format": "pt" } });
    let mut offset = 0;
    let mut add = |name: &str, bytes: u64| {
        table[name] = serde_json::json!({ "dtype": "F16", "shape": [bytes / 2048, 1024], "data_offsets": [offset, offset + bytes] });
        offset += bytes;
    };
    add("model.embed_tokens.weight", 16 * MIB);
    (0..layers).for_each(|layer| {
        add(
            &format!("model.layers.{layer}.mlp.up_proj.weight"),
            layer_mib * MIB,
        )
    });
    let table = table.to_string();
    fs::write(
        path,
        [&(table.len() as u64).to_le_bytes()[..], table.as_bytes()].concat(),
    )
    .expect("a header");
    let holes = File::options().write(true).open(path).expect("the file");
    holes
        .set_len(8 + table.len() as u64 + offset)
        .expect("weights");
}

fn rows(folder: &Path, model: &str) -> Vec<Value> {
    rows_on("a100-pcie4-x86", folder, model)
}

fn rows_on(machine: &str, folder: &Path, model: &str) -> Vec<Value> {
    let arguments = ["advise", model, "--machine", machine, "--format", "json"];
    let text = run_in(folder, &arguments).result();
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    answer["rows"].as_array().expect("rows").clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {row}"))
}

fn of<'a>(rows: &'a [Value], way: &str) -> &'a Value {
    rows.iter()
        .find(|row| row["way"] == way)
        .unwrap_or_else(|| panic!("{way}"))
}

#[test]
fn a_model_that_fits_is_read_from_gpu_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    gguf(&folder.path().join("small.gguf"), 4, 64, true);
    let rows = rows(folder.path(), "small.gguf");
    assert_eq!(rows.len(), 5);
    let demand = of(&rows, "on demand");
    // All but 8191 of the 8192 rows of embeddings.
    assert_eq!(demand["token_bytes"], 4 * 64 * MIB + 16 * MIB + 2048);
    assert_eq!(demand["moved_bytes"], 0);
    // No more than the memory's 1539 GB/s, and most of them; the link has 25 GB/s.
    let rate = |row: &Value| number(row, "tokens_per_second") * number(row, "token_bytes");
    assert!((500e9..1539e9).contains(&rate(demand)), "{demand}");
    assert!(rate(of(&rows, "zero-copy")) < 32e9);
}

/// Access counters move what the first tokens read over the link; while a block moves, those who read it wait.
#[test]
fn a_model_that_fits_is_judged_when_counters_have_moved_it() {
    let folder = tempfile::tempdir().expect("a folder");
    gguf(&folder.path().join("small.gguf"), 4, 64, true);
    let rows = rows_on("gh200", folder.path(), "small.gguf");
    let rate = |way| number(of(&rows, way), "tokens_per_second");
    let share = rate("on demand") / rate("layers split");
    assert!((0.9..1.1).contains(&share), "{share}");
    assert_eq!(of(&rows, "on demand")["moved_bytes"], 0);
}

#[test]
fn a_model_that_does_not_fit_is_bounded_by_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    gguf(&folder.path().join("large.gguf"), 120, 512, true);
    let rows = rows(folder.path(), "large.gguf");
    for row in &rows {
        let factor = number(row, "oversubscription_factor");
        assert!((1.4..1.7).contains(&factor), "{row}");
        assert!(number(row, "moved_bytes") > 0.0, "{row}");
        assert!(number(row, "tokens_per_second_error") >= 0.0);
    }
    let speed = |way| number(of(&rows, way), "tokens_per_second");
    // What stays on the GPU is not moved: a loop through pages in order evicts what it needs next.
    assert!(speed("layers split") > speed("zero-copy"));
    assert!(speed("zero-copy") > speed("on demand"));
    // A third of the weights is read in place.
    let share = number(of(&rows, "layers split"), "moved_bytes")
        / number(of(&rows, "layers split"), "token_bytes");
    assert!((0.2..0.6).contains(&share), "{share}");
}

#[test]
fn both_formats_say_the_same_and_tied_embeddings_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    gguf(&folder.path().join("one.gguf"), 2, 64, false);
    safetensors(&folder.path().join("one.safetensors"), 2, 64);
    let (first, second) = (
        rows(folder.path(), "one.gguf"),
        rows(folder.path(), "one.safetensors"),
    );
    assert_eq!(first, second);
    assert_eq!(first[0]["token_bytes"], 2 * 64 * MIB + 16 * MIB);
}

#[test]
fn what_is_no_model_is_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, bytes: &[u8], why: &str| {
        fs::write(folder.path().join(name), bytes).expect("a file");
        let error = run_in(
            folder.path(),
            &["advise", name, "--machine", "a100-pcie4-x86"],
        )
        .error(2);
        assert!(error.contains(why) && error.contains(name), "{error}");
    };
    gguf(&folder.path().join("whole"), 2, 64, true);
    let whole = fs::read(folder.path().join("whole")).expect("the file");
    refused(
        "text",
        b"a text that is no model at all",
        "neither a GGUF nor",
    );
    refused("empty", b"", "ends within the table");
    refused("cut", &whole[..100], "ends within the table");
    refused("short", &whole[..4096], "fetch it again");
    refused(
        "old",
        &[b"GGUF", &1u32.to_le_bytes()[..], &[0; 16]].concat(),
        "version 1",
    );
    refused(
        "many",
        &[b"GGUF", &3u32.to_le_bytes()[..], &[255; 16]].concat(),
        "are announced",
    );
    refused(
        "none",
        &[b"GGUF", &3u32.to_le_bytes()[..], &[0; 16]].concat(),
        "no weights",
    );
    refused(
        "json",
        &[&2u64.to_le_bytes()[..], b"[]"].concat(),
        "its table of tensors is wrong",
    );
    let experts = br#"{"a.experts.0.w":{"dtype":"F16","shape":[1,4],"data_offsets":[0,8]}}"#;
    refused(
        "experts",
        &[&(experts.len() as u64).to_le_bytes()[..], experts, &[0; 8]].concat(),
        "mixture of experts",
    );
    let ends = br#"{"a":{"dtype":"F16","shape":[1,4],"data_offsets":[8,0]}}"#;
    refused(
        "ends",
        &[&(ends.len() as u64).to_le_bytes()[..], ends].concat(),
        "ends before it begins",
    );
    let error = run_in(folder.path(), &["advise", "whole"]).error(2);
    assert!(error.contains("--machine"), "{error}");
    let error = run_in(folder.path(), &["advise", "whole", "--machine", "gtx480"]).error(2);
    assert!(error.contains("gtx480"), "{error}");
}
