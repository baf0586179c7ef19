//! Every way a scenario can be wrong, and the messages: change detectors of the exact texts.

mod statements;

use std::path::Path;

use insta::assert_snapshot;
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{InputErrors, load, load_text};

const SOUND: &str = r#"title = "A test"
kind = "gpu"
machine = "gtx480"

[workload]
name = "vector-add"
elements = 1024

[transfer]
mode = "multi-range"
page_size = "4 KiB"
unit = "128 B"
"#;

/// What a user sees for the sound scenario with `from` replaced by `to`.
fn replaced(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from), "{from}");
    messages(&SOUND.replace(from, to), &[])
}

/// What a user sees for the sound scenario with `--set` arguments.
fn set(sets: &[&str]) -> String {
    messages(SOUND, sets)
}

fn messages(text: &str, sets: &[&str]) -> String {
    let source = SourceText::file(Path::new("scenarios/test.toml"), text.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    match load_text(&source, &sets) {
        Ok(scenario) => format!("no error, {} points", scenario.points.len()),
        Err(errors) => show(&errors),
    }
}

fn show(errors: &InputErrors) -> String {
    let text = errors.render(false);
    let lines = text.lines().map(|line| without_list(line.trim_end()));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The line without the names that grow with every new program and scenario.
fn without_list(line: &str) -> String {
    for list in [
        " workloads: ",
        " nearest of ",
        " holds: ",
        " machines: ",
        " machines by name: ",
        " kinds of scenario: ",
    ] {
        if let Some((before, _)) = line.split_once(list) {
            return format!("{before}{list}...");
        }
    }
    line.to_owned()
}

#[test]
fn the_sound_scenario_is_sound() {
    assert_eq!(set(&[]), "no error, 1 points");
}

#[test]
fn malformed_toml() {
    assert_snapshot!(replaced("kind = \"gpu\"", "kind = gpu"), @r#"
 × scenarios/test.toml is not valid TOML: string values must be quoted, expected literal string
  ╭─[scenarios/test.toml:2:8]
1 │ title = "A test"
2 │ kind = gpu
  ·        ───
3 │ machine = "gtx480"
  ╰────
"#);
    assert_snapshot!(replaced("[workload]", "[workload"), @r#"
 × scenarios/test.toml is not valid TOML: unclosed table, expected `]`
  ╭─[scenarios/test.toml:5:10]
4 │
5 │ [workload
  ·          ▲
6 │ name = "vector-add"
  ╰────
"#);
    assert_snapshot!(replaced("[transfer]", "[workload]"), @r#"
 × scenarios/test.toml is not valid TOML: duplicate key
   ╭─[scenarios/test.toml:9:2]
 8 │
 9 │ [workload]
   ·  ────────
10 │ mode = "multi-range"
   ╰────
"#);
}

#[test]
fn missing_files() {
    let missing = |given: &str| show(&load(given, &[]).expect_err("no such scenario"));
    assert_snapshot!(missing("quickstrat"), @r#"
× there is no scenario "quickstrat", neither a file nor built in
help: did you mean `quickstart`? nearest of ...
"#);
    assert_snapshot!(missing("no-folder/test.toml"), @r#"
× there is no file no-folder/test.toml
help: there is no folder no-folder either; nearest of ...
"#);
    assert_snapshot!(missing("src/quickstart.toml"), @r#"
× there is no file src/quickstart.toml
help: did you mean `quickstart`? nearest of ...
"#);
    assert_snapshot!(missing("../../../scenarios/quikstart.toml"), @r#"
× there is no file ../../../scenarios/quikstart.toml
help: ../../../scenarios holds: ...
"#);
    assert_snapshot!(missing("tests"), @r#"
× tests is a folder, not a scenario file
help: nearest of ...
"#);
}

#[test]
fn machines_that_are_not_there() {
    assert_snapshot!(replaced("gtx480", "gtx840"), @r#"
 × there is no machine "gtx840"
  ╭─[scenarios/test.toml:3:11]
2 │ kind = "gpu"
3 │ machine = "gtx840"
  ·           ────────
4 │
  ╰────
 help: did you mean `gtx480`? nearest of ...
"#);
    assert_snapshot!(replaced("gtx480", "machines/mine.toml"), @r#"
 × cannot read the machine file scenarios/machines/mine.toml: No such file or directory (os error 2)
  ╭─[scenarios/test.toml:3:11]
2 │ kind = "gpu"
3 │ machine = "machines/mine.toml"
  ·           ────────────────────
4 │
  ╰────
 help: a path is relative to the scenario; nearest of ...
"#);
    assert_snapshot!(replaced("\"gtx480\"", "480"), @r#"
 × `machine` is 480: a text in quotes is needed
  ╭─[scenarios/test.toml:3:11]
2 │ kind = "gpu"
3 │ machine = 480
  ·           ───
4 │
  ╰────
"#);
}

#[test]
fn names_that_are_unknown() {
    assert_snapshot!(replaced("vector-add", "vectoradd"), @r#"
 × `workload.name` is "vectoradd": this is none of the workloads
  ╭─[scenarios/test.toml:6:8]
5 │ [workload]
6 │ name = "vectoradd"
  ·        ───────────
7 │ elements = 1024
  ╰────
 help: did you mean `vector-add`? workloads: ...
"#);
    assert_snapshot!(replaced("multi-range", "multirange"), @r#"
 × `transfer.mode` is "multirange": this is none of the transfer modes
   ╭─[scenarios/test.toml:10:8]
 9 │ [transfer]
10 │ mode = "multirange"
   ·        ────────────
11 │ page_size = "4 KiB"
   ╰────
 help: did you mean `multi-range`? transfer modes: ideal-overlap, programmer-copy, whole-page, single-range, tree, multi-range, on-demand, zero-copy, stripe, stripe-even, bulk-prefetch, read-mostly
"#);
    assert_snapshot!(replaced("\"gpu\"", "\"quantum\""), @r#"
 × `kind` is "quantum": this is none of the kinds of scenario
  ╭─[scenarios/test.toml:2:8]
1 │ title = "A test"
2 │ kind = "quantum"
  ·        ─────────
3 │ machine = "gtx480"
  ╰────
 help: kinds of scenario: ...
"#);
    assert_snapshot!(set(&["transfer.when_full=biggest"]), @r#"
 × `transfer.when_full` is "biggest": this is none of the rules for full range slots
  ╭─[--set:1:20]
1 │ transfer.when_full=biggest
  ·                    ───────
  ╰────
 help: rules for full range slots: smallest-gap, nearest-range
"#);
}

#[test]
fn keys_that_are_unknown() {
    assert_snapshot!(replaced("page_size", "pagesize"), @r#"
 × unknown key `transfer.pagesize`
   ╭─[scenarios/test.toml:11:1]
10 │ mode = "multi-range"
11 │ pagesize = "4 KiB"
   · ────────
12 │ unit = "128 B"
   ╰────
 help: did you mean `page_size`? keys of `transfer`: mode, page_size, unit, gap_threshold, range_slots, when_full
"#);
    assert_snapshot!(replaced("elements", "nodes"), @r#"
 × unknown key `workload.nodes`
  ╭─[scenarios/test.toml:7:1]
6 │ name = "vector-add"
7 │ nodes = 1024
  · ─────
8 │
  ╰────
 help: keys of `workload`: name, elements, seed, read_results
"#);
    assert_snapshot!(replaced("[transfer]", "[transfers]"), @r#"
 × the section `transfer` is missing
  ╭─[scenarios/test.toml:1:1]
1 │ title = "A test"
  · ▲
2 │ kind = "gpu"
  ╰────
 help: add a section [transfer]; is `transfers` meant to be `transfer`?
 × unknown key `transfers`
   ╭─[scenarios/test.toml:9:2]
 8 │
 9 │ [transfers]
   ·  ─────────
10 │ mode = "multi-range"
   ╰────
 help: did you mean `transfer`? keys at the top: title, about, seed, machine, kind, workload, transfer, limits, detail
"#);
    assert_snapshot!(set(&["machine.link.bandwith=32 GB/s"]), @r#"
 × unknown key `machine.link.bandwith`
  ╭─[--set:1:1]
1 │ machine.link.bandwith=32 GB/s
  · ─────────────────────
  ╰────
 help: did you mean `bandwidth`? keys of `machine.link`: bandwidth, bandwidth_to_cpu, latency, payload, header
"#);
    assert_snapshot!(set(&["transfer.mode=whole-page", "transfer.slots=4"]), @r#"
 × unknown key `transfer.slots`
  ╭─[--set:1:1]
1 │ transfer.slots=4
  · ──────────────
  ╰────
 help: keys of `transfer`: mode, page_size, unit, gap_threshold, range_slots, when_full
"#);
}

#[test]
fn keys_that_are_missing() {
    assert_snapshot!(replaced("title = \"A test\"\n", ""), @r#"
 × the key `title` is missing
  ╭─[scenarios/test.toml:1:1]
1 │ kind = "gpu"
  · ▲
2 │ machine = "gtx480"
  ╰────
 help: add a line `title = ...` before the first section
"#);
    assert_snapshot!(replaced("mode = \"multi-range\"\n", ""), @r#"
 × the key `transfer.mode` is missing
   ╭─[scenarios/test.toml:9:1]
 8 │
 9 │ [transfer]
   · ──────────
10 │ page_size = "4 KiB"
   ╰────
 help: add a line `mode = ...` to [transfer]
"#);
}

#[test]
fn units_that_are_missing_or_wrong() {
    assert_snapshot!(replaced("\"4 KiB\"", "4096"), @r#"
 × `transfer.page_size` is 4096: a number of bytes needs its unit
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = 4096
   ·             ────
12 │ unit = "128 B"
   ╰────
 help: if B is meant, write "4096 B"
"#);
    assert_snapshot!(replaced("\"4 KiB\"", "\"4096\""), @r#"
 × `transfer.page_size` is "4096": a number of bytes needs its unit
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = "4096"
   ·             ──────
12 │ unit = "128 B"
   ╰────
 help: write for example "2 MiB"; units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
"#);
    assert_snapshot!(replaced("\"4 KiB\"", "\"4 KIB\""), @r#"
 × `transfer.page_size` is "4 KIB": `KIB` is no unit of a number of bytes
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = "4 KIB"
   ·             ───────
12 │ unit = "128 B"
   ╰────
 help: did you mean `KiB`? units of a number of bytes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
"#);
    assert_snapshot!(replaced("\"4 KiB\"", "\"0.5 B\""), @r#"
 × `transfer.page_size` is "0.5 B": this is no whole number of bytes
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = "0.5 B"
   ·             ───────
12 │ unit = "128 B"
   ╰────
"#);
    assert_snapshot!(replaced("1024", "\"1024\""), @r#"
 × `workload.elements` is "1024": a whole number without a unit is needed, such as 128
  ╭─[scenarios/test.toml:7:12]
6 │ name = "vector-add"
7 │ elements = "1024"
  ·            ──────
8 │
  ╰────
 help: leave the quotes out: 1024
"#);
    assert_snapshot!(set(&["machine.link.bandwidth=16 GB"]), @r#"
 × `machine.link.bandwidth` is "16 GB": `GB` is no unit of a bandwidth
  ╭─[--set:1:24]
1 │ machine.link.bandwidth=16 GB
  ·                        ─────
  ╰────
 help: write for example "16 GB/s"; units: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s
"#);
    assert_snapshot!(set(&["machine.link.latency=1.5"]), @r#"
 × `machine.link.latency` is 1.5: a time needs its unit
  ╭─[--set:1:22]
1 │ machine.link.latency=1.5
  ·                      ───
  ╰────
 help: if ns is meant, write "1.5 ns"
"#);
    assert_snapshot!(set(&["machine.l1.hit_latency=60 ns"]), @r#"
 × `machine.l1.hit_latency` is "60 ns": `ns` is no unit of a number of cycles
  ╭─[--set:1:24]
1 │ machine.l1.hit_latency=60 ns
  ·                        ─────
  ╰────
 help: write for example "24 cycles"; units: cycles
"#);
}

#[test]
fn values_that_are_impossible() {
    assert_snapshot!(replaced("\"4 KiB\"", "\"4 KB\""), @r#"
 × `transfer.page_size` is "4 KB": a page size is a power of two from 256 B to 1 GiB
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = "4 KB"
   ·             ──────
12 │ unit = "128 B"
   ╰────
 help: the next page size is "4 KiB"
"#);
    assert_snapshot!(replaced("\"4 KiB\"", "\"2 GiB\""), @r#"
 × `transfer.page_size` is "2 GiB": a page size is a power of two from 256 B to 1 GiB
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = "2 GiB"
   ·             ───────
12 │ unit = "128 B"
   ╰────
 help: write for example "4 KiB" or "2 MiB"
"#);
    assert_snapshot!(replaced("\"128 B\"", "\"8 KiB\""), @r#"
 × `transfer.unit` is "8 KiB": this is larger than the page of 4 KiB
   ╭─[scenarios/test.toml:12:8]
11 │ page_size = "4 KiB"
12 │ unit = "8 KiB"
   ·        ───────
   ╰────
 help: write at most "4 KiB", or raise `transfer.page_size`
"#);
    assert_snapshot!(replaced("\"128 B\"", "\"96 B\""), @r#"
 × `transfer.unit` is "96 B": a migration unit has to divide the page of 4 KiB
   ╭─[scenarios/test.toml:12:8]
11 │ page_size = "4 KiB"
12 │ unit = "96 B"
   ·        ──────
   ╰────
 help: a power of two does, such as "128 B"
"#);
    assert_snapshot!(replaced("\"128 B\"", "\"0 B\""), @r#"
 × `transfer.unit` is "0 B": a migration unit holds at least 1 byte
   ╭─[scenarios/test.toml:12:8]
11 │ page_size = "4 KiB"
12 │ unit = "0 B"
   ·        ─────
   ╰────
 help: write for example "1 KiB"
"#);
    assert_snapshot!(set(&["transfer.range_slots=0"]), @r#"
 × `transfer.range_slots` is 0: it has to be from 1 to 4294967295
  ╭─[--set:1:22]
1 │ transfer.range_slots=0
  ·                      ─
  ╰────
 help: write "unlimited" for no limit
"#);
    assert_snapshot!(set(&["workload.elements=0"]), @r#"
 × `workload.elements` is 0: vector-add does not allow this
  ╭─[--set:1:19]
1 │ workload.elements=0
  ·                   ─
  ╰────
 help: allowed: 1 to 2147483648
"#);
    assert_snapshot!(set(&["workload.elements=-1"]), @r#"
 × `workload.elements` is -1: a number of at least 0 is needed
  ╭─[--set:1:19]
1 │ workload.elements=-1
  ·                   ──
  ╰────
"#);
    assert_snapshot!(set(&["workload.elements=99999999999999999999"]), @r#"
 × `workload.elements` is 99999999999999999999: it has to be at most 9223372036854775807
  ╭─[--set:1:19]
1 │ workload.elements=99999999999999999999
  ·                   ────────────────────
  ╰────
"#);
    assert_snapshot!(set(&["machine.link.bandwidth=0 GB/s"]), @r#"
 × `machine.link.bandwidth` is "0 GB/s": a bandwidth above zero is needed
  ╭─[--set:1:24]
1 │ machine.link.bandwidth=0 GB/s
  ·                        ──────
  ╰────
 help: write for example "16 GB/s"
"#);
    assert_snapshot!(set(&["machine.clocks.core=0 Hz"]), @r#"
 × `machine.clocks.core` is "0 Hz": a frequency from 1 Hz to 1000 GHz is needed
  ╭─[--set:1:21]
1 │ machine.clocks.core=0 Hz
  ·                     ────
  ╰────
 help: write for example "1.4 GHz"
"#);
    assert_snapshot!(set(&["machine.tlb.ways=3"]), @r#"
 × `machine.tlb.ways` is 3: it must divide tlb.entries = 128 (the same number for a fully associative TLB)
  ╭─[--set:1:18]
1 │ machine.tlb.ways=3
  ·                  ─
  ╰────
"#);
    assert_snapshot!(set(&["machine.tlb.scope=per-cu"]), @r#"
 × `machine.tlb.scope` is "per-cu": this is none of the scopes of a TLB
  ╭─[--set:1:19]
1 │ machine.tlb.scope=per-cu
  ·                   ──────
  ╰────
 help: did you mean `per-sm`? scopes of a TLB: per-sm, shared
"#);
    assert_snapshot!(set(&["machine.sm.count=5000000000"]), @r#"
 × `machine.sm.count` is 5000000000: it has to be at most 4294967295
  ╭─[--set:1:18]
1 │ machine.sm.count=5000000000
  ·                  ──────────
  ╰────
"#);
    assert_snapshot!(set(&["machine.dram.capacity=1 KiB"]), @r#"
 × `machine.dram.capacity` is "1 KiB": it must hold at least one page of 4 KiB
  ╭─[--set:1:23]
1 │ machine.dram.capacity=1 KiB
  ·                       ─────
  ╰────
"#);
}

#[test]
fn overrides_that_make_no_sense() {
    assert_snapshot!(set(&["transfer.mode"]), @r#"
 × --set "transfer.mode" has no `=`
  ╭─[--set:1:1]
1 │ transfer.mode
  · ─────────────
  ╰────
 help: write --set key=value, as in --set transfer.mode=whole-page
"#);
    assert_snapshot!(set(&["=3"]), @r#"
 × `` is no key
  ╭─[--set:1:1]
1 │ =3
  · ▲
  ╰────
 help: a key is names joined by dots, such as machine.link.bandwidth
"#);
    assert_snapshot!(set(&["sweep.transfer.mode=[1]"]), @r#"
 × `sweep` cannot be set as a whole
  ╭─[--set:1:1]
1 │ sweep.transfer.mode=[1]
  · ───────────────────
  ╰────
 help: set the swept key itself, to one value or to a list: --set 'transfer.mode=["whole-page", "multi-range"]'
"#);
    assert_snapshot!(set(&["transfer.mode.x=1"]), @r#"
 × `transfer.mode` is no table, so it has no key `x`
  ╭─[--set:1:1]
1 │ transfer.mode.x=1
  · ───────┬───────
  ·        ╰── `transfer.mode` is "multi-range"
  ╰────
"#);
    assert_snapshot!(set(&["transfer.mode=[]"]), @r#"
 × the swept key `transfer.mode` is an empty list: a list of values is needed
  ╭─[--set:1:15]
1 │ transfer.mode=[]
  ·               ──
  ╰────
 help: write at least one value, or take `transfer.mode` out of the sweep
"#);
    assert_snapshot!(set(&["workload=vector-add"]), @r#"
 × `workload` is "vector-add": a table is needed
  ╭─[--set:1:10]
1 │ workload=vector-add
  ·          ──────────
  ╰────
 help: write a section [workload], or workload = { key = value }
"#);
}

#[test]
fn sweeps_that_make_no_sense() {
    let sweep = |lines: &str| messages(&format!("{SOUND}\n[sweep]\n{lines}\n"), &[]);
    assert_snapshot!(sweep("\"transfer.unit\" = \"1 KiB\""), @r#"
 × the swept key `transfer.unit` is "1 KiB": a list of values is needed
   ╭─[scenarios/test.toml:15:19]
14 │ [sweep]
15 │ "transfer.unit" = "1 KiB"
   ·                   ───────
   ╰────
 help: write `"transfer.unit" = ["1 KiB"]`
"#);
    assert_snapshot!(sweep("\"transfer.unit\" = []"), @r#"
 × the swept key `transfer.unit` is an empty list: a list of values is needed
   ╭─[scenarios/test.toml:15:19]
14 │ [sweep]
15 │ "transfer.unit" = []
   ·                   ──
   ╰────
 help: write at least one value, or take `transfer.unit` out of the sweep
"#);
    assert_snapshot!(sweep("\"transfer unit\" = [1]"), @r#"
 × `transfer unit` is no key
   ╭─[scenarios/test.toml:15:1]
14 │ [sweep]
15 │ "transfer unit" = [1]
   · ───────────────
   ╰────
 help: a key is names joined by dots, such as machine.link.bandwidth
"#);
    assert_snapshot!(sweep("\"transfer.unit\" = [\"1 KiB\", \"3 KiB\", \"8 KiB\"]"), @r#"
 × `transfer.unit` is "3 KiB": a migration unit has to divide the page of 4 KiB
   ╭─[scenarios/test.toml:15:29]
14 │ [sweep]
15 │ "transfer.unit" = ["1 KiB", "3 KiB", "8 KiB"]
   ·                             ───────
   ╰────
 help: a power of two does, such as "4 KiB"
 × `transfer.unit` is "8 KiB": this is larger than the page of 4 KiB
   ╭─[scenarios/test.toml:15:38]
14 │ [sweep]
15 │ "transfer.unit" = ["1 KiB", "3 KiB", "8 KiB"]
   ·                                      ───────
   ╰────
 help: write at most "4 KiB", or raise `transfer.page_size`
"#);
    assert_snapshot!(sweep("\"machine.gmmu.buffer_entries\" = [64, 0]"), @r#"
 × `machine.gmmu.buffer_entries` is 0: it must be from 1 to 1048576
   ╭─[scenarios/test.toml:15:38]
14 │ [sweep]
15 │ "machine.gmmu.buffer_entries" = [64, 0]
   ·                                      ─
   ╰────
"#);
    assert_snapshot!(messages(&format!("sweep = 3\n{SOUND}"), &[]), @r#"
 × `sweep` is 3: a table is needed
  ╭─[scenarios/test.toml:1:1]
1 │ sweep = 3
  · ─────
2 │ title = "A test"
  ╰────
 help: write a section [sweep] with lines `"key" = [value, value]`
"#);
}

#[test]
fn every_problem_is_told_at_once_and_once() {
    let text = SOUND
        .replace("\"4 KiB\"", "4096")
        .replace("1024", "\"many\"")
        .replace("title", "titel");
    assert_snapshot!(messages(&format!("{text}\n[sweep]\nseed = [1, 2, 3]\n"), &[]), @r#"
 × the key `title` is missing
  ╭─[scenarios/test.toml:1:1]
1 │ titel = "A test"
  · ▲
2 │ kind = "gpu"
  ╰────
 help: add a line `title = ...` before the first section; is `titel` meant to be `title`?
 × `workload.elements` is "many": a whole number without a unit is needed, such as 128
  ╭─[scenarios/test.toml:7:12]
6 │ name = "vector-add"
7 │ elements = "many"
  ·            ──────
8 │
  ╰────
 × `transfer.page_size` is 4096: a number of bytes needs its unit
   ╭─[scenarios/test.toml:11:13]
10 │ mode = "multi-range"
11 │ page_size = 4096
   ·             ────
12 │ unit = "128 B"
   ╰────
 help: if B is meant, write "4096 B"
 × unknown key `titel`
  ╭─[scenarios/test.toml:1:1]
1 │ titel = "A test"
  · ─────
2 │ kind = "gpu"
  ╰────
 help: did you mean `title`? keys at the top: title, about, seed, machine, kind, workload, transfer, limits, detail
"#);
}
