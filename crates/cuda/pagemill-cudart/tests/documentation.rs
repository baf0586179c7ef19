//! `docs/cuda.md` says what `api.txt` does, and the libraries have what others ask of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pagemill_cudart::api::{SHIMS, functions};

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

/// Names that follow `before` in the headers `file` of the CUDA versions that tests install.
fn names_in_headers(file: &str, before: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/venv/cuda/lib");
    let folders = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let pythons = folders(&root).into_iter();
    let packages = pythons.flat_map(|python| folders(&python.join("site-packages/nvidia")));
    let headers = packages.map(|package| package.join("include").join(file));
    let texts = headers.filter_map(|header| std::fs::read(header).ok());
    let mut names = BTreeSet::new();
    for text in texts {
        let text = String::from_utf8_lossy(&text).into_owned();
        let named = text.split(before).skip(1).map(str::trim_start);
        let named = named.filter_map(|rest| Some(rest.split_once('(')?.0.trim_end().to_owned()));
        names.extend(named.filter(|name| {
            // Windows has WGL.
            !name.starts_with("cuWGL")
                && name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_')
        }));
    }
    names
}

/// A program, or a binding of another language, that finds a name missing ends; one that is not supported says so.
#[test]
fn every_name_of_the_headers_is_there() {
    for (file, before, table) in [
        ("cuda.h", "CUDAAPI", include_str!("../driver.txt")),
        ("cudaGL.h", "CUDAAPI", include_str!("../driver.txt")),
        ("cudaEGL.h", "CUDAAPI", include_str!("../driver.txt")),
        ("cudaVDPAU.h", "CUDAAPI", include_str!("../driver.txt")),
        (
            "cuda_runtime_api.h",
            "CUDARTAPI",
            include_str!("../api.txt"),
        ),
    ] {
        let wanted = names_in_headers(file, before);
        if wanted.is_empty() {
            pagemill_testkit::skip("there are no CUDA headers: `cargo xtask test` installs them");
            return;
        }
        let own: BTreeSet<&str> = table
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let missing: Vec<&String> = wanted
            .iter()
            .filter(|name| !own.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
        let least = if file.contains("GL") || file.contains("VDPAU") {
            3
        } else {
            300
        };
        assert!(wanted.len() > least, "{file}: {}", wanted.len());
    }
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

/// What a library defines, as `nm` says it: `name`, or `name@@node`.
fn defined(bytes: &[u8]) -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("library.so");
    std::fs::write(&library, bytes).expect("written");
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(&library)
        .output();
    let output = output.expect("binutils, which the linker is of");
    let text = String::from_utf8(output.stdout).expect("plain text");
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next_back());
    names.map(str::to_owned).collect()
}

/// A name that is missing, or that has another version node, ends the program in the dynamic loader.
#[test]
fn the_libraries_have_what_pytorch_asks_for() {
    let rows: Vec<Vec<&str>> = include_str!("asked.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').collect())
        .collect();
    assert!(rows.len() > 190, "{}", rows.len());
    for shim in &SHIMS {
        let defined = defined(shim.bytes);
        for row in rows.iter().filter(|row| row[0] == shim.file_name) {
            let (name, with_node) = (row[1], format!("{}@@{}", row[1], row[0]));
            let is_there = defined.contains(&with_node);
            let any_will_do = row.len() == 2 && defined.contains(name);
            assert!(is_there || any_will_do, "{with_node}");
        }
    }
}
