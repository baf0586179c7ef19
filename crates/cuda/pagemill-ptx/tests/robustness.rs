//! Parsing, loading and running: everything nvcc wrote for the conformance kernels, and everything else.

use pagemill_ptx::{DeviceMemory, Launch, Module, Output, run_functional};
use pagemill_ptx_parse::parse;
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

/// A valid text with words of some lines replaced by words of others: mostly well-formed instructions that make no sense.
fn crossed() -> impl Strategy<Value = String> {
    let index = any::<prop::sample::Index>;
    let edit = (any::<bool>(), index(), index(), index(), index());
    (index(), prop::collection::vec(edit, 1..6)).prop_map(|(which, edits)| {
        let text = which.get(&TEXTS);
        let mut lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_inclusive([' ', '\t', ',']).collect())
            .collect();
        for (whole_line, to, from, to_word, from_word) in edits {
            let (to, from) = (to.index(lines.len()), from.index(lines.len()));
            if whole_line {
                lines.swap(to, from);
            } else if !lines[to].is_empty() && !lines[from].is_empty() {
                let word = *from_word.get(&lines[from]);
                let place = to_word.index(lines[to].len());
                lines[to][place] = word;
            }
        }
        lines.iter().map(|line| line.concat() + "\n").collect()
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

/// Runs every kernel on a small buffer for a while: to its end, or to a trap that says something.
fn run_all(module: &Module) {
    let mut memory = DeviceMemory::new();
    let Ok(linked) = module.link(&mut memory) else {
        return;
    };
    let buffer = memory.alloc("buffer", 4096, 256).expect("memory is there");
    for kernel in module.kernels() {
        // Pointers where pointers fit, zeros elsewhere.
        let mut args = Vec::new();
        for param in &kernel.params {
            args.resize(param.offset as usize, 0);
            let word = if param.bytes == 8 { buffer } else { 0 };
            args.extend_from_slice(&word.to_le_bytes()[..param.bytes.min(8) as usize]);
            args.resize((param.offset + param.bytes) as usize, 0);
        }
        let Ok(launch) = Launch::new(module, &linked, kernel, [2, 1, 1], [48, 1, 1], 64, &args)
        else {
            continue;
        };
        let launch = launch.with_instruction_limit(3000);
        if let Err(trap) = run_functional(&launch, &mut memory, &mut Output::default()) {
            assert!(trap.to_string().contains(&kernel.name));
        }
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
    fn crossed_kernels_run_or_say_why(text in crossed()) {
        match Module::load("hostile", &text) {
            Ok(module) => run_all(&module),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn truncated_kernels_never_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let text = which.get(&TEXTS);
        check(&String::from_utf8_lossy(&text.as_bytes()[..at.index(text.len())]));
    }
}
