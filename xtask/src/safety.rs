//! Reasons of unsafe code that point elsewhere (`see above`) instead of arguing: each crate may only lose such lines.

use anyhow::{Result, bail};

use crate::workspace;

/// Lines of each crate that pointed elsewhere when this rule was made; a crate that is not listed has none.
const POINTING: &[(&str, usize)] = &[("pagemill-fabric", 5), ("pagemill-mapping", 15)];

/// What a reason begins with that leaves its argument to another place, where nothing but a full stop follows.
const POINTERS: [&str; 7] = [
    "see above",
    "see the module",
    "see the parent module",
    "as above",
    "by the contract of this function",
    "the caller's promise",
    "the same contract",
];

/// Checks every crate, its tests included.
pub fn check() -> Result<()> {
    let mut findings = Vec::new();
    for folder in workspace::crates()? {
        let name = folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let known = POINTING.iter().find(|(known, _)| *known == name);
        let most = known.map_or(0, |(_, most)| *most);
        findings.extend(finding(&name, &workspace::rust_text(&folder)?, most));
    }
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    Ok(())
}

/// What is wrong with the crate `name`, whose sources are `text`, if at most `most` of its reasons may point elsewhere.
fn finding(name: &str, text: &str, most: usize) -> Option<String> {
    let lines = text.lines().filter(|line| points(line)).count();
    let found = format!("{name}: {lines} reasons of unsafe code point elsewhere");
    if lines > most {
        Some(format!(
            "{found}, {most} are the most: say why the call is sound"
        ))
    } else if lines < most {
        Some(format!("{found}: lower its {most} in xtask/src/safety.rs"))
    } else {
        None
    }
}

fn points(line: &str) -> bool {
    let reason = line.trim_start().strip_prefix("// SAFETY:");
    reason.is_some_and(|reason| POINTERS.contains(&reason.trim().trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_points_elsewhere_is_found() {
        let text = "// SAFETY: see above.\nf();\n// SAFETY: see above, and `p` is a multiple of 4.\ng();\n";
        assert!(finding("a", text, 0).unwrap().contains("1 reasons"));
        assert_eq!(finding("a", text, 1), None);
        assert!(finding("a", text, 2).unwrap().contains("lower its 2"));
    }
}
