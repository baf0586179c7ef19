//! The length of files, and of the tests in them.

use std::path::{Path, PathBuf};

use super::Finding;

/// Longer files are hard to hold in one's head.
const LINES_MAX: usize = 600;

/// More lines of tests than this are in a file of their own: who reads the product need not pass them.
const TEST_LINES_MAX: usize = 30;

/// Files that were longer when this rule was made: their lines. Numbers may only fall, but for comments that
/// say how a figure is decided.
pub const LONGER: &[Longer] = &[
    Longer(
        "crates/linux/pagemill-mapping/tests/programs/memory_calls.c",
        697,
    ),
    Longer("crates/lab/pagemill-cli/tests/cuda.rs", 757),
    Longer("crates/net/pagemill-fabric/src/station/mod.rs", 624),
    Longer(
        "crates/net/pagemill-fabric/tests/programs/areas/messages.c",
        632,
    ),
    Longer(
        "crates/linux/pagemill-pager/src/remote/server/simulated/client.rs",
        632,
    ),
    Longer("crates/core/pagemill-policy/src/residency/driver.rs", 640),
    Longer("crates/cuda/pagemill-ptx/src/block/mod.rs", 606),
    Longer("crates/cuda/pagemill-ptx/src/exec/run.rs", 798),
    Longer("crates/cuda/pagemill-ptx-lower/src/emit/mod.rs", 618),
    Longer("crates/cuda/pagemill-ptx-native/src/emit/access.rs", 630),
    Longer("crates/cuda/pagemill-ptx-native/src/emit/emitter.rs", 791),
    Longer("crates/cuda/pagemill-ptx-native/src/emit/lanes.rs", 632),
    Longer("crates/cuda/pagemill-ptx/tests/conformance/tensor.rs", 665),
    Longer("crates/cuda/pagemill-scenario/tests/errors/main.rs", 644),
    Longer("crates/cuda/pagemill-sim/src/gpu/sm/run.rs", 604),
    Longer("crates/net/pagemill-nic/src/interface.rs", 690),
    Longer("crates/net/pagemill-nic/src/rank.rs", 729),
    Longer("crates/pages/pagemill-pages/src/managers/ranges.rs", 623),
    Longer(
        "crates/pages/pagemill-pages/src/managers/ranges_tests.rs",
        664,
    ),
];

/// A file and the lines that it has.
pub struct Longer(&'static str, usize);

/// What is wrong with the length of the file at `path`.
pub fn judge(path: &str, lines: usize, longer: &[Longer]) -> Vec<(usize, String)> {
    let entry = longer.iter().find(|entry| entry.0 == path);
    let most = entry.map_or(LINES_MAX, |entry| entry.1);
    let found = if lines > most {
        format!("{lines} lines: split it, {most} are the most")
    } else if entry.is_some() && lines <= LINES_MAX {
        format!("{lines} lines: remove it from xtask/src/tidy/lengths.rs")
    } else if lines < most && entry.is_some() {
        format!("{lines} lines: lower its {most} in xtask/src/tidy/lengths.rs")
    } else {
        return Vec::new();
    };
    vec![(most.min(lines), found)]
}

/// The tests in `text` that are too many lines for a file of the product.
pub fn tests_inside(text: &str) -> Vec<(usize, String)> {
    let mut lines = text.lines().enumerate();
    let Some((start, _)) = lines.find(|(_, line)| *line == "mod tests {") else {
        return Vec::new();
    };
    let end = lines.find(|(_, line)| *line == "}");
    let within = end.map_or(0, |(end, _)| end - start - 1);
    match within >= TEST_LINES_MAX {
        true => vec![(
            start + 1,
            format!("{within} lines of tests: move them to a file of their own (`mod tests;`)"),
        )],
        false => Vec::new(),
    }
}

/// Entries for files that `root` no longer has.
pub fn files_that_are_gone(root: &Path) -> impl Iterator<Item = Finding> {
    let gone = LONGER.iter().filter(|entry| !root.join(entry.0).exists());
    gone.map(|Longer(path, _)| Finding {
        path: PathBuf::from("xtask/src/tidy/lengths.rs"),
        line: 1,
        message: format!("{path} is gone: remove it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_may_only_shrink() {
        let said = |lines| {
            let found = judge("a.rs", lines, &[Longer("a.rs", 700)]);
            found
                .into_iter()
                .next()
                .map_or(String::new(), |(_, message)| message)
        };
        assert!(said(701).contains("700 are the most"));
        assert_eq!(said(700), "");
        assert!(said(650).contains("lower its 700"));
        assert!(said(600).contains("remove it"));
        assert_eq!(judge("b.rs", 600, &[]), []);
        assert!(judge("b.rs", 601, &[])[0].1.contains("600 are the most"));
    }

    #[test]
    fn long_tests_have_a_file() {
        let file = |lines: usize| format!("mod tests {{\n{}}}\n", "    x\n".repeat(lines));
        assert!(tests_inside(&file(29)).is_empty());
        assert!(tests_inside(&file(30))[0].1.contains("30 lines of tests"));
        assert!(tests_inside("mod tests;\n").is_empty());
    }
}
