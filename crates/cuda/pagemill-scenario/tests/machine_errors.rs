//! Every way a machine file can be wrong, and the messages: change detectors of the exact texts.

use insta::assert_snapshot;
use pagemill_scenario::{MACHINES, load};

const SCENARIO: &str = r#"
title = "A test"
kind = "gpu"
machine = "mine.toml"
[workload]
name = "vector-add"
[transfer]
mode = "ideal-overlap"
"#;

/// What a user sees for a copy of the machine gtx480 with `from` replaced by `to`.
fn replaced(from: &str, to: &str) -> String {
    let machine = MACHINES
        .iter()
        .find(|machine| machine.name == "gtx480")
        .expect("it is built in")
        .text;
    assert!(machine.contains(from), "{from}");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("mine.toml"),
        machine.replacen(from, to, 1),
    )
    .expect("a machine");
    let scenario = folder.path().join("test.toml");
    std::fs::write(&scenario, SCENARIO).expect("a scenario");
    let text = match load(scenario.to_str().expect("UTF-8"), &[]) {
        Ok(scenario) => format!("no error, {} points", scenario.points.len()),
        Err(errors) => errors.render(false),
    };
    let text = text.replace(&format!("{}/", folder.path().display()), "");
    // Line numbers move with every new line of the machine; messages are what is fixed here.
    text.lines()
        .filter_map(without_line_number)
        .collect::<Vec<_>>()
        .join("\n")
}

fn without_line_number(line: &str) -> Option<String> {
    let line = line.trim_end();
    if line.is_empty() || line.trim_start().starts_with(|c| "╭╰".contains(c)) {
        return None;
    }
    let after_number = line
        .split_once('│')
        .filter(|(number, _)| number.trim().parse::<u32>().is_ok());
    Some(match after_number {
        Some((_, text)) => format!("│{text}").trim_end().to_owned(),
        None => line.trim_start().to_owned(),
    })
}

#[test]
fn the_machine_itself_is_sound() {
    assert_eq!(replaced("title", "title"), "no error, 1 points");
}

#[test]
fn malformed_toml() {
    assert_snapshot!(replaced("[link]", "[link"), @r#"
× mine.toml is not valid TOML: unclosed table, expected `]`
│
│ [link
·      ▲
│ bandwidth = { value = "16 GB/s", source = "table 1: PCI Express 3.0 x16; 32 GB/s stands for 4.0 x16" }
"#);
}

#[test]
fn values_without_a_source() {
    let link = "{ value = \"16 GB/s\", source = \"table 1: PCI Express 3.0 x16; 32 GB/s stands for 4.0 x16\" }";
    assert_snapshot!(replaced(link, "\"16 GB/s\""), @r#"
× `machine.link.bandwidth` is "16 GB/s": every value of a machine needs its source
│ [link]
│ bandwidth = "16 GB/s"
·             ─────────
│ latency = { value = "500 ns", source = "estimate" }
help: write bandwidth = { value = "16 GB/s", source = "..." }; a source is a document, a measurement, or the word "estimate"
"#);
    assert_snapshot!(replaced(link, "{ value = \"16 GB/s\" }"), @r#"
× `machine.link.bandwidth` is a table: every value of a machine needs its source
│ [link]
│ bandwidth = { value = "16 GB/s" }
·             ─────────────────────
│ latency = { value = "500 ns", source = "estimate" }
help: write bandwidth = { value = "16 GB/s", source = "..." }; a source is a document, a measurement, or the word "estimate"
"#);
    assert_snapshot!(replaced(link, "{ value = \"16 GB/s\", source = \"\" }"), @r#"
× `machine.link.bandwidth.source` is "": a source is a document, a measurement, or the word "estimate"
│ [link]
│ bandwidth = { value = "16 GB/s", source = "" }
·                                           ──
│ latency = { value = "500 ns", source = "estimate" }
"#);
    assert_snapshot!(replaced(link, "{ source = \"table 1\" }"), @r#"
× `machine.link.bandwidth` is a table: the key `value` is missing
│ [link]
│ bandwidth = { source = "table 1" }
·             ──────────────────────
│ latency = { value = "500 ns", source = "estimate" }
help: write bandwidth = { value = ..., source = "..." }
"#);
    assert_snapshot!(replaced(link, "{ value = \"16 GB/s\", sorce = \"table 1\" }"), @r#"
× `machine.link.bandwidth.sorce` is "table 1": this is no key of a value
│ [link]
│ bandwidth = { value = "16 GB/s", sorce = "table 1" }
·                                          ─────────
│ latency = { value = "500 ns", source = "estimate" }
help: did you mean `source`? keys of a value: value, source
"#);
    assert_snapshot!(replaced(link, "{ value = 16, source = \"table 1\" }"), @r#"
× `machine.link.bandwidth` is 16: a bandwidth needs its unit
│ [link]
│ bandwidth = { value = 16, source = "table 1" }
·                       ──
│ latency = { value = "500 ns", source = "estimate" }
help: if GB/s is meant, write "16 GB/s"
"#);
}

#[test]
fn keys_that_are_missing_or_unknown() {
    assert_snapshot!(replaced("entries = { value = 128, source = \"table 1\" }\n", ""), @r#"
× the key `machine.tlb.entries` is missing
│
│ [tlb]
· ─────
│ scope = { value = "per-sm", source = "table 1: per CU" }
help: add a line `entries = ...` to [tlb]
"#);
    assert_snapshot!(replaced("[gmmu]", "[gmu]"), @r#"
× the section `machine.gmmu` is missing
│ # A GeForce GTX 480 as a unified-memory GPU: the machine of Zhang et al. 2019, table 1.
· ▲
│ #
help: add a section [gmmu]; is `gmu` meant to be `gmmu`?
× unknown key `machine.gmu`
│
│ [gmu]
·  ───
│ buffer_entries = { value = 128, source = "table 1: migration buffer of each memory partition" }
help: did you mean `gmmu`? keys of `machine`: title, about, kind, clocks, sm, tlb, walker, l1, l2, interconnect, dram, link, gmmu, host
"#);
    assert_snapshot!(replaced("banks", "bank"), @r#"
× the key `machine.dram.banks` is missing
│
│ [dram]
· ──────
│ clock = { value = "1024 MHz", source = "table 1" }
help: add a line `banks = ...` to [dram]; is `bank` meant to be `banks`?
× unknown key `machine.dram.bank`
│ channels = { value = 12, source = "table 1" }
│ bank = { value = 16, source = "GPGPU-Sim 3.x: nbk of gpgpu_dram_timing_opt" }
· ────
│ row = { value = "2 KiB", source = "estimate: 1 KiB row of each of the two chips of a channel" }
help: did you mean `banks`? keys of `machine.dram`: clock, bandwidth, channels, banks, row, column, activate, precharge, row_cycle, interleave, interleave_hash, capacity
"#);
}

#[test]
fn values_that_are_impossible() {
    assert_snapshot!(replaced("banks = { value = 16", "banks = { value = 12"), @r#"
× `machine.dram.banks` is 12: it must be a power of two from 1 to 1024
│ channels = { value = 12, source = "table 1" }
│ banks = { value = 12, source = "GPGPU-Sim 3.x: nbk of gpgpu_dram_timing_opt" }
·                   ──
│ row = { value = "2 KiB", source = "estimate: 1 KiB row of each of the two chips of a channel" }
"#);
    assert_snapshot!(replaced("line = { value = \"128 B\"", "line = { value = \"64 B\""), @r#"
× `machine.l1.line` is "64 B": it must be 128, the segment of a coalesced request
│ size = { value = "16 KiB", source = "table 1" }
│ line = { value = "64 B", source = "GPGPU-Sim 3.x: gpgpu_cache:dl1" }
·                  ──────
│ ways = { value = 4, source = "GPGPU-Sim 3.x: gpgpu_cache:dl1" }
"#);
    assert_snapshot!(replaced("channels = { value = 12", "channels = { value = 0"), @r#"
× `machine.dram.channels` is 0: it must be from 1 to 1024
│ bandwidth = { value = "384 GB/s", source = "table 1: aggregate" }
│ channels = { value = 0, source = "table 1" }
·                      ─
│ banks = { value = 16, source = "GPGPU-Sim 3.x: nbk of gpgpu_dram_timing_opt" }
"#);
    assert_snapshot!(replaced("\"384 GB/s\"", "\"0 GB/s\""), @r#"
× `machine.dram.bandwidth` is "0 GB/s": a bandwidth above zero is needed
│ clock = { value = "1024 MHz", source = "table 1" }
│ bandwidth = { value = "0 GB/s", source = "table 1: aggregate" }
·                       ────────
│ channels = { value = 12, source = "table 1" }
help: write for example "16 GB/s"
"#);
}

#[test]
fn kinds_of_machine() {
    assert_snapshot!(replaced("kind = \"gpu\"\n", ""), @r"
    × the key `machine.kind` is missing
    │ # A GeForce GTX 480 as a unified-memory GPU: the machine of Zhang et al. 2019, table 1.
    · ▲
    │ #
    help: add a line `kind = ...` before the first section
    ");
    // The list of kinds grows; the words before it do not.
    let unknown = replaced("kind = \"gpu\"", "kind = \"gpo\"");
    assert!(
        unknown.starts_with("× `machine.kind` is \"gpo\": this is none of the kinds of machine"),
        "{unknown}"
    );
    assert!(unknown.contains("did you mean `gpu`?"), "{unknown}");
}
