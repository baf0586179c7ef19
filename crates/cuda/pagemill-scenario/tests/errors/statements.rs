//! Every way a scenario's claims and plots can be wrong, and the messages.

use insta::assert_snapshot;

use super::{SOUND, messages};

/// What a user sees for the sound scenario with a claim or a plot behind it.
fn stated(statement: &str) -> String {
    messages(&format!("{SOUND}\n{statement}"), &[])
}

const CLAIM: &str = r#"[[claims]]
id = "slow"
text = "Whole pages are slow"
metric = "time_ns"
of = { mode = "whole-page" }
at_least = 2.0
"#;

const PLOT: &str = r#"[[plots]]
id = "time"
title = "Time"
form = "bars"
y = "time_ns"
"#;

#[test]
fn sound_claims_and_plots_are_taken() {
    assert_eq!(stated(CLAIM), "no error, 1 points");
    assert_eq!(stated(PLOT), "no error, 1 points");
}

#[test]
fn a_claim_has_known_keys() {
    assert_snapshot!(stated(&CLAIM.replace("at_least", "at_leest")), @r#"
 × a claim needs either bounds, or `highest`, or `lowest`
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[claims]]
   · ──────────
15 │ id = "slow"
   ╰────
 help: write at_least and at_most, or highest = [...], or lowest = [...]
 × unknown key `claims[0].at_leest`
   ╭─[scenarios/test.toml:19:1]
18 │ of = { mode = "whole-page" }
19 │ at_leest = 2.0
   · ────────
   ╰────
 help: did you mean `at_least`? keys of `claims[0]`: id, text, published, note, at_least, at_most, highest, lowest, metric, per, where, of, to, normalize_to, across, members, mean
"#);
    assert_snapshot!(stated(&CLAIM.replace("id = \"slow\"\n", "")), @r#"
 × the key `claims[0].id` is missing
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[claims]]
   · ──────────
15 │ text = "Whole pages are slow"
   ╰────
 help: add a line `id = ...` to this [[claims]]
"#);
}

#[test]
fn a_claim_needs_one_expectation() {
    assert_snapshot!(stated(&CLAIM.replace("at_least = 2.0\n", "")), @r#"
 × a claim needs either bounds, or `highest`, or `lowest`
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[claims]]
   · ──────────
15 │ id = "slow"
   ╰────
 help: write at_least and at_most, or highest = [...], or lowest = [...]
"#);
    assert_snapshot!(stated(&format!("{CLAIM}highest = [\"bfs\"]\n")), @r#"
 × a claim needs either bounds, or `highest`, or `lowest`
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[claims]]
   · ──────────
15 │ id = "slow"
   ╰────
 help: write at_least and at_most, or highest = [...], or lowest = [...]
"#);
}

#[test]
fn a_claim_has_values_of_the_right_kind() {
    assert_snapshot!(stated(&CLAIM.replace("2.0", "\"2\"")), @r#"
 × `claims[0].at_least` is "2": a number is needed
   ╭─[scenarios/test.toml:19:12]
18 │ of = { mode = "whole-page" }
19 │ at_least = "2"
   ·            ───
   ╰────
"#);
    assert_snapshot!(stated(&CLAIM.replace("{ mode = \"whole-page\" }", "\"whole-page\"")), @r#"
 × `claims[0].of` is "whole-page": a table of columns and values is needed
   ╭─[scenarios/test.toml:18:6]
17 │ metric = "time_ns"
18 │ of = "whole-page"
   ·      ────────────
19 │ at_least = 2.0
   ╰────
 help: write { mode = "whole-page" }
"#);
    assert_snapshot!(stated(&format!("{CLAIM}mean = \"average\"\n")), @r#"
 × `claims[0].mean` is "average": this is none of the means
   ╭─[scenarios/test.toml:20:8]
19 │ at_least = 2.0
20 │ mean = "average"
   ·        ─────────
   ╰────
 help: means: arithmetic, geometric, minimum, maximum
"#);
}

#[test]
fn a_plot_has_a_known_form() {
    assert_snapshot!(stated(&PLOT.replace("bars", "bar")), @r#"
 × `plots[0].form` is "bar": this is none of the forms of plot
   ╭─[scenarios/test.toml:17:8]
16 │ title = "Time"
17 │ form = "bar"
   ·        ─────
18 │ y = "time_ns"
   ╰────
 help: did you mean `bars`? forms of plot: bars, lines, stacked, heat-map
"#);
    assert_snapshot!(stated(&PLOT.replace("form = \"bars\"\n", "")), @r#"
 × the key `plots[0].form` is missing
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[plots]]
   · ─────────
15 │ id = "time"
   ╰────
 help: add a line `form = ...` to this [[plots]]
"#);
}

#[test]
fn a_plot_has_the_keys_of_its_form() {
    assert_snapshot!(stated(&PLOT.replace("bars", "lines")), @r#"
 × the key `plots[0].x` is missing
   ╭─[scenarios/test.toml:14:1]
13 │
14 │ [[plots]]
   · ─────────
15 │ id = "time"
   ╰────
 help: add a line `x = ...` to this [[plots]]; is `y` meant to be `x`?
"#);
    assert_snapshot!(stated(&format!("{PLOT}ycap = 20.0\n")), @r#"
 × unknown key `plots[0].ycap`
   ╭─[scenarios/test.toml:19:1]
18 │ y = "time_ns"
19 │ ycap = 20.0
   · ────
   ╰────
 help: did you mean `y_cap`? keys of `plots[0]`: id, title, form, caption, x_title, y_title, panel_by, only, x, series, y, normalize_to, log, y_cap, mean
"#);
}

#[test]
fn claims_are_a_list_of_tables() {
    assert_snapshot!(messages(&format!("claims = 3\n{SOUND}"), &[]), @r#"
 × `claims` is 3: a list of tables is needed
  ╭─[scenarios/test.toml:1:10]
1 │ claims = 3
  ·          ─
2 │ title = "A test"
  ╰────
 help: write [[claims]] before each of them
"#);
}
