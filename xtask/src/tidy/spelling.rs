//! American spelling, in text and in names.

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

/// This list.
const OWN_PATH: &str = "xtask/src/tidy/spelling.rs";

/// The lines of the file at `path` that are spelled the British way, and the American stem.
pub fn british(path: &Path, text: &str) -> Vec<(usize, String)> {
    if path == Path::new(OWN_PATH) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some((british, american)) = in_line(line) {
            let (british, american) = (british.trim_end(), american.trim_end());
            found.push((index + 1, format!("`{british}`: write `{american}`")));
        }
    }
    found
}

/// The first stem in each line is enough: `centred` holds `centre`.
fn in_line(line: &str) -> Option<(&'static str, &'static str)> {
    let mut line = line.to_lowercase();
    for word in OTHER_WORDS {
        line = line.replace(word, "");
    }
    STEMS
        .into_iter()
        .find(|(british, _)| line.contains(british))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let found = british(Path::new("a/b.rs"), text);
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn names_and_text_are_american() {
        assert_eq!(lines("let colour_count = 1;\nlet color = 2;"), [1]);
        assert_eq!(lines("// The\n// Organisation of it"), [2]);
        assert_eq!(lines("gametree and colors"), [0; 0]);
    }
}
