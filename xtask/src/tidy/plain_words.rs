//! Words that hide who acts: a component has a name, and a reader should not have to guess which one is meant.

use std::path::Path;

/// Words and phrases, lower case, and what to do instead.
const WORDS: [(&str, &str); 8] = [
    (
        "nobody",
        "name the process, thread or component, or say `not`",
    ),
    ("somebody", "name the process, thread or component"),
    ("anybody", "name the process, thread or component"),
    ("everybody", "name the processes, threads or components"),
    ("whoever", "name the process, thread or component"),
    ("whomever", "name the process, thread or component"),
    ("to be had", "write `available`, or `there is`"),
    ("in vain", "say what did not happen"),
];

/// Files that are about the Unix user of that name, or are not ours to word, and this list.
const EXEMPT: [&str; 3] = [
    "crates/linux/pagemill-zero/tests/pool/users.rs",
    "kmod/LICENSE",
    "xtask/src/tidy/plain_words.rs",
];

/// The lines of the file at `path` with such a word, and what to write instead.
pub fn found(path: &Path, text: &str) -> Vec<(usize, String)> {
    if EXEMPT.iter().any(|exempt| path == Path::new(exempt)) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let (word, instead) = in_line(line)?;
            Some((index + 1, format!("`{word}`: {instead}")))
        })
        .collect()
}

fn in_line(line: &str) -> Option<(&'static str, &'static str)> {
    let line = line.to_lowercase();
    WORDS.into_iter().find(|(word, _)| stands_in(&line, word))
}

/// Whether `line` has `word`, not as a part of another word.
fn stands_in(line: &str, word: &str) -> bool {
    let is_border = |c: Option<char>| c.is_none_or(|c| !c.is_alphabetic());
    line.match_indices(word).any(|(at, _)| {
        is_border(line[..at].chars().next_back())
            && is_border(line[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let found = found(Path::new("a/b.rs"), text);
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn words_without_an_actor_are_found_in_text_and_in_names() {
        assert_eq!(lines("// Nobody waits.\n// The thread waits."), [1]);
        assert_eq!(lines("fn told_to_nobody() {}"), [1]);
        assert_eq!(lines("// There is none to be had."), [1]);
        assert_eq!(lines("// The vain antibodies."), [0; 0]);
    }
}
