//! Names that commands had before: they are answered, with the new one on standard error.

use std::ffi::OsString;

use crate::output::note;

/// What commands were called, and are.
const OLD_NAMES: &[(&[&str], &[&str])] = &[
    (&["sweep"], &["run"]),
    (&["view"], &["report", "pages"]),
    (&["compare"], &["report", "compare"]),
    (&["goal"], &["mpi", "goal"]),
    (&["gpu", "bench"], &["doctor", "gpu"]),
    (&["zero", "bench"], &["doctor", "zero"]),
    (&["pager", "probe"], &["doctor", "pager"]),
    (&["color", "probe"], &["doctor", "color"]),
];

/// The words of a command line by today's names.
pub fn today(words: Vec<OsString>) -> Vec<OsString> {
    let own = words.get(1..).unwrap_or_default();
    let found = OLD_NAMES.iter().find(|(old, _)| {
        own.len() >= old.len() && old.iter().zip(own).all(|(name, word)| *name == *word)
    });
    let Some((old, new)) = found else {
        return words;
    };
    let option = if old[0] == "sweep" { " --keep" } else { "" };
    note(&format!(
        "`pagemill {}` is `pagemill {}{option}` now",
        old.join(" "),
        new.join(" ")
    ));
    let rest = own[old.len()..].iter().map(|word| match word.to_str() {
        Some(text) if old[0] == "sweep" => match text.strip_prefix("--out") {
            Some(value) if value.is_empty() || value.starts_with('=') => {
                format!("--keep{value}").into()
            }
            _ => word.clone(),
        },
        _ => word.clone(),
    });
    let program = words[..1].iter().cloned();
    program
        .chain(new.iter().map(OsString::from))
        .chain(rest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::today;

    #[test]
    fn old_names_become_todays() {
        let of = |text: &str| {
            let words = today(text.split(' ').map(Into::into).collect());
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        };
        assert_eq!(
            of("p sweep s --out d --jobs 2"),
            "p run s --keep d --jobs 2"
        );
        assert_eq!(of("p sweep s --out=d"), "p run s --keep=d");
        assert_eq!(of("p compare a b"), "p report compare a b");
        assert_eq!(of("p gpu bench --out d"), "p doctor gpu --out d");
        assert_eq!(of("p run sweep --out d"), "p run sweep --out d");
        assert_eq!(of("p"), "p");
    }
}
