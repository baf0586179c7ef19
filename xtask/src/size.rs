//! Lines of each crate's product: it may grow only in a commit that changes its number here, and says why.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The lines of `src` that each crate may have, files of tests left out.
const LINES: &[(&str, usize)] = &[
    ("pagemill-cli", 10025),
    ("pagemill-color", 1986),
    ("pagemill-color-preload", 552),
    ("pagemill-cudart", 16788),
    ("pagemill-fabric", 10188),
    ("pagemill-gpu", 2403),
    ("pagemill-gpu-front", 1681),
    ("pagemill-linux", 5642),
    ("pagemill-map", 1147),
    ("pagemill-mapping", 4010),
    ("pagemill-nic", 7091),
    ("pagemill-pager", 8423),
    ("pagemill-pager-cabi", 214),
    ("pagemill-pager-preload", 1366),
    ("pagemill-pages", 12192),
    ("pagemill-playground", 261),
    ("pagemill-policy", 9559),
    ("pagemill-ptx", 14307),
    ("pagemill-ptx-ir", 4349),
    ("pagemill-ptx-lower", 12707),
    ("pagemill-ptx-native", 5597),
    ("pagemill-ptx-parse", 2686),
    ("pagemill-python", 2338),
    ("pagemill-report", 7926),
    ("pagemill-run", 8487),
    ("pagemill-scenario", 6688),
    ("pagemill-sim", 9702),
    ("pagemill-testkit", 1699),
    ("pagemill-trace", 1265),
    ("pagemill-types", 755),
    ("pagemill-vm", 2374),
    ("pagemill-wire", 426),
    ("pagemill-workloads", 8093),
    ("pagemill-zero", 3649),
    ("pagemill-zero-bench", 1552),
    ("pagemill-zero-cabi", 108),
    ("pagemill-zero-client", 560),
    ("pagemill-zero-preload", 591),
];

/// Prints the lines of each crate, and checks them.
pub fn check() -> Result<()> {
    let mut findings = Vec::new();
    let (mut sizes, mut all) = (Vec::new(), 0);
    for folder in workspace::crates()? {
        let name = folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let lines = lines_below(&folder.join("src"))?;
        findings.extend(finding(&name, lines));
        sizes.push(format!("{name} {lines}"));
        all += lines;
    }
    eprintln!("product lines of Rust: {all}: {}", sizes.join(", "));
    let is_gone = |name: &str| workspace::crate_folder(name).is_err();
    let gone = LINES.iter().filter(|(name, _)| is_gone(name));
    findings
        .extend(gone.map(|(name, _)| format!("{name} is gone: remove it from xtask/src/size.rs")));
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    Ok(())
}

/// What is wrong with a crate of so many lines.
fn finding(name: &str, lines: usize) -> Option<String> {
    let known = LINES.iter().find(|(known, _)| *known == name);
    let most = known.map_or(0, |(_, most)| *most);
    (lines > most).then(|| {
        format!("{name} has {lines} lines, and may have {most}: take some away, or change its number in xtask/src/size.rs in this commit, whose body says why")
    })
}

/// The lines of all Rust files below `folder`, without those of tests.
fn lines_below(folder: &Path) -> Result<usize> {
    let mut lines = 0;
    for path in workspace::entries(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            lines += lines_below(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            lines += text.lines().count();
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_grew_is_found() {
        let (name, most) = LINES[0];
        assert_eq!(finding(name, most), None);
        assert!(
            finding(name, most + 1)
                .unwrap()
                .contains("change its number")
        );
        assert!(finding("pagemill-new", 1).is_some());
    }
}
