//! American spelling, and words that say who acts: a reader should not have to guess which component is meant.

use std::path::Path;

/// British stems and the American ones. Stems are lower case and match inside names too.
const STEMS: [(&str, &str); 30] = [
    ("analyse ", "analyze "),
    ("artefact", "artifact"),
    ("behaviour", "behavior"),
    ("catalogue", "catalog"),
    ("centred", "centered"),
    ("centre", "center"),
    ("colour", "color"),
    ("defence", "defense"),
    ("favour", "favor"),
    ("fibre", "fiber"),
    ("generalise", "generalize"),
    ("honour", "honor"),
    ("initialis", "initializ"),
    ("judgement", "judgment"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("metre", "meter"),
    ("modelled", "modeled"),
    ("modelling", "modeling"),
    ("neighbour", "neighbor"),
    ("normalis", "normaliz"),
    ("optimise", "optimize"),
    ("organisation", "organization"),
    ("randomis", "randomiz"),
    ("recognis", "recogniz"),
    ("serialis", "serializ"),
    ("specialise", "specialize"),
    ("summaris", "summariz"),
    ("synchronis", "synchroniz"),
    ("utilis", "utiliz"),
];

/// Words that hold a stem by chance.
const OTHER_WORDS: [&str; 1] = ["gametree"];

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
    "xtask/src/tidy/words.rs",
];

/// The lines of the file at `path` with a word that is spelled the British way or hides who acts, and what to write instead.
pub fn found(path: &Path, text: &str) -> Vec<(usize, String)> {
    if EXEMPT.iter().any(|exempt| path == Path::new(exempt)) {
        return Vec::new();
    }
    let lines = (1..).zip(text.lines());
    let found = lines.filter_map(|(number, line)| Some((number, in_line(&line.to_lowercase())?)));
    found.collect()
}

/// The first word in each line is enough: `centred` holds `centre`.
fn in_line(line: &str) -> Option<String> {
    let bare = OTHER_WORDS
        .iter()
        .fold(line.to_owned(), |line, word| line.replace(word, ""));
    let british = STEMS
        .into_iter()
        .find(|(british, _)| bare.contains(british));
    if let Some((british, american)) = british {
        return Some(format!(
            "`{}`: write `{}`",
            british.trim_end(),
            american.trim_end()
        ));
    }
    let (word, instead) = WORDS.into_iter().find(|(word, _)| stands_in(line, word))?;
    Some(format!("`{word}`: {instead}"))
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
    fn names_and_text_are_american() {
        assert_eq!(lines("let colour_count = 1;\nlet color = 2;"), [1]);
        assert_eq!(lines("// The\n// Organisation of it"), [2]);
        assert_eq!(lines("gametree and colors"), [0; 0]);
    }

    #[test]
    fn words_without_an_actor_are_found_in_text_and_in_names() {
        assert_eq!(lines("// Nobody waits.\n// The thread waits."), [1]);
        assert_eq!(lines("fn told_to_nobody() {}"), [1]);
        assert_eq!(lines("// There is none to be had."), [1]);
        assert_eq!(lines("// The vain antibodies."), [0; 0]);
    }
}
