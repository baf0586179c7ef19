//! `docs/cuda.md` says what `api.txt` does.

use std::collections::BTreeSet;
use std::path::Path;

use pagemill_cudart::api::functions;

const BEGIN: &str = "<!-- functions: begin -->\n";
const END: &str = "<!-- functions: end -->";
const WIDTH: usize = 118;

/// Every supported function, and how many are not.
fn table() -> String {
    let supported: BTreeSet<&str> = functions()
        .filter(|function| function.implementation.is_some())
        .map(|function| function.name)
        .collect();
    let all: BTreeSet<&str> = functions().map(|function| function.name).collect();
    // Variants for per-thread default streams stand with their plain form.
    let plain = |name: &&&str| !name.ends_with("_ptsz") && !name.ends_with("_ptds");
    let mut text = format!(
        "{} of the {} functions that libcudart.so.12 and libcudart.so.13 export, {} of them without their `_ptsz` and `_ptds` forms:\n\n```\n",
        supported.len(),
        all.len(),
        supported.iter().filter(plain).count()
    );
    let mut line = String::new();
    for name in supported.iter().filter(plain) {
        if line.len() + name.len() + 1 > WIDTH {
            text += &format!("{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += name;
    }
    text + &format!("{line}\n```\n")
}

#[test]
fn the_supported_functions_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/cuda.md");
    let text = std::fs::read_to_string(path).expect("docs/cuda.md");
    let rest = text.split_once(BEGIN).expect("the mark of the beginning").1;
    let found = rest.split_once(END).expect("the mark of the end").0;
    let expected = table();
    assert_eq!(
        found, expected,
        "put this between the marks in docs/cuda.md:\n{expected}"
    );
}

#[test]
fn the_table_is_sorted_and_names_each_function_once_a_version() {
    let rows: Vec<_> = functions().collect();
    assert!(rows.len() > 450);
    assert!(rows.is_sorted_by_key(|row| row.name));
    let of_versions = rows
        .iter()
        .flat_map(|row| row.versions.split(',').map(|version| (row.name, version)));
    let mut seen = BTreeSet::new();
    for row in of_versions {
        assert!(["12", "13"].contains(&row.1) && seen.insert(row), "{row:?}");
    }
}
