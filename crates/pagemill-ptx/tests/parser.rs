//! The parser on everything nvcc wrote for the conformance kernels, and on everything else.

use pagemill_ptx::parse::parse;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn kernel_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let entries = std::fs::read_dir(folder).expect("the folder of kernels is there");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    files.sort();
    files
}

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    kernel_files()
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("readable text"))
        .collect()
});

#[test]
fn every_kernel_file_parses() {
    let files = kernel_files();
    assert!(files.len() >= 45, "only {} kernel files found", files.len());
    for (file, text) in files.iter().zip(TEXTS.iter()) {
        let module =
            parse(&file.display().to_string(), text).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            module
                .functions
                .iter()
                .any(|function| function.is_entry && function.has_body)
        );
        for function in &module.functions {
            assert!(
                function
                    .labels
                    .iter()
                    .all(|(_, at)| *at <= function.body.len())
            );
        }
    }
}

#[test]
fn the_same_text_gives_the_same_module() {
    for text in TEXTS.iter() {
        assert_eq!(parse("a", text), parse("a", text));
    }
}

/// What stands between the words of PTX, and words that mean something to the parser.
const WORDS: &[&str] = &[
    ".version 8.0",
    ".target sm_75",
    ".address_size 64",
    ".visible",
    ".extern",
    ".entry",
    ".func",
    ".global",
    ".const",
    ".shared",
    ".local",
    ".param",
    ".reg",
    ".align",
    ".b8",
    ".u32",
    ".f64",
    ".pred",
    ".v4",
    ".loc",
    ".file",
    ".section",
    ".pragma",
    ".branchtargets",
    ".callprototype",
    ".alias",
    ".maxntid",
    "k",
    "x",
    "%r",
    "%r1",
    "%tid",
    "_",
    "L",
    "generic",
    "call",
    "ld",
    "@",
    "!",
    "|",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "~",
    "?",
    "<<",
    "0",
    "1",
    "4000000000",
    "99999999999",
    "18446744073709551615",
    "0xFF",
    "0f3F800000",
    "1.5",
    "\"text\"",
    "//",
    "/*",
    "*/",
    "\n",
];

fn soup() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(WORDS), 0..200);
    words.prop_map(|words| format!(".version 8.0\n.target sm_75\n{}", words.join(" ")))
}

/// A valid text with some pieces cut, doubled, moved or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        0..4u8,
        any::<prop::sample::Index>(),
        0..40usize,
        prop::sample::select(WORDS),
    );
    (
        any::<prop::sample::Index>(),
        prop::collection::vec(edit, 1..12),
    )
        .prop_map(|(which, edits)| {
            let mut text = which.get(&TEXTS).clone().into_bytes();
            for (kind, at, length, word) in edits {
                let start = at.index(text.len() + 1);
                let end = (start + length).min(text.len());
                let piece = match kind {
                    0 => Vec::new(),
                    1 => text[start..end].repeat(2),
                    2 => word.as_bytes().to_vec(),
                    _ => text[start..end].iter().rev().copied().collect(),
                };
                text.splice(start..end, piece);
            }
            String::from_utf8_lossy(&text).into_owned()
        })
}

/// Either a module, or an error at a line the text has.
fn check(text: &str) {
    if let Err(error) = parse("hostile", text) {
        let lines = text.split('\n').count();
        assert!(
            error.line >= 1 && error.line as usize <= lines,
            "line {} of {lines}: {error}",
            error.line
        );
        assert!(error.to_string().len() < 2000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn word_soup_never_panics(text in soup()) {
        check(&text);
    }

    #[test]
    fn mutated_kernels_never_panic(text in mutated()) {
        check(&text);
    }

    #[test]
    fn truncated_kernels_never_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let text = which.get(&TEXTS);
        check(&String::from_utf8_lossy(&text.as_bytes()[..at.index(text.len())]));
    }
}
