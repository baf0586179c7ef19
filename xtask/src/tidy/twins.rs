//! Files that are copies of each other. Where a file is split or moved and the old one stays, its tests run twice, and a change
//! of one copy is lost in the other.

use std::collections::HashSet;

use super::{Finding, SourceFile};

/// Files with fewer lines that say something are left out: short ones look alike.
const LINES_MIN: usize = 60;
/// Of the lines of the shorter file, how many percent the longer one may have too.
const SHARED_PERCENT_MAX: usize = 70;
/// Shorter lines, such as `}` and `#[test]`, are in every file.
const LINE_BYTES_MIN: usize = 16;

/// Each pair of copies, at the second file.
pub(super) fn found(files: &[SourceFile]) -> Vec<Finding> {
    let spoken: Vec<(&SourceFile, HashSet<&str>)> = files
        .iter()
        .map(|file| (file, lines_of(&file.text)))
        .filter(|(_, lines)| lines.len() >= LINES_MIN)
        .collect();
    let pairs = (0..spoken.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs
        .filter_map(|(first, second)| {
            let percent = shared_percent(&spoken[first].1, &spoken[second].1);
            (percent > SHARED_PERCENT_MAX).then(|| Finding {
                path: spoken[second].0.path.clone(),
                line: 1,
                message: format!(
                    "{percent} % of its lines or of the other's are in {} too: delete one, or share what is common",
                    spoken[first].0.path.display()
                ),
            })
        })
        .collect()
}

fn lines_of(text: &str) -> HashSet<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| line.len() >= LINE_BYTES_MIN).collect()
}

fn shared_percent(one: &HashSet<&str>, other: &HashSet<&str>) -> usize {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    100 * short.intersection(long).count() / short.len()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn file(path: &str, lines: impl Iterator<Item = usize>) -> SourceFile {
        let lines = lines.map(|number| format!("    let value_{number} = {number};\n"));
        SourceFile {
            path: PathBuf::from(path),
            text: lines.collect(),
        }
    }

    #[test]
    fn a_copy_with_a_few_changes_is_found_and_a_relative_is_not() {
        let old = file("tests/old.rs", 0..100);
        let copy = file("tests/new/main.rs", 20..110);
        let relative = file("tests/other.rs", 60..160);
        let found = found(&[old, copy, relative]);
        let paths: Vec<_> = found.iter().map(|finding| finding.path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("tests/new/main.rs")]);
        assert!(found[0].message.contains("tests/old.rs"), "{found:?}");
    }
}
