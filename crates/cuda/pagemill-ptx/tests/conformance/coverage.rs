//! Every instruction the executor claims to support stands in a kernel of this suite.

use super::harness::kernel_folder;
use pagemill_ptx_parse::parse;
use std::collections::BTreeSet;

/// The mnemonics of all instructions in all kernels.
fn used() -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for entry in std::fs::read_dir(kernel_folder()).expect("the folder of kernels is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable text");
        let module =
            parse(&path.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"));
        let instructions = module.functions.iter().flat_map(|function| &function.body);
        used.extend(instructions.map(|instruction| instruction.opcode[0].clone()));
    }
    used
}

/// The mnemonics the executor claims to support.
fn supported() -> BTreeSet<&'static str> {
    pagemill_ptx::supported_opcodes()
        .iter()
        .map(|opcode| opcode.name)
        .collect()
}

#[test]
fn every_supported_instruction_is_used() {
    let used = used();
    let unused: Vec<&str> = supported()
        .into_iter()
        .filter(|opcode| !used.contains(*opcode))
        .collect();
    assert!(
        unused.is_empty(),
        "supported, but in no kernel of the suite: {unused:?}"
    );
}

#[test]
fn every_used_instruction_is_supported() {
    let supported = supported();
    let unknown: Vec<String> = used()
        .into_iter()
        .filter(|opcode| !supported.contains(opcode.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "in a kernel of the suite, but not supported: {unknown:?}"
    );
}
