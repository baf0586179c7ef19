//! Figures as files of their own: colors are literal, because few viewers of SVG know CSS variables.

use std::sync::LazyLock;

use crate::style::{PLOT_RULES, STYLE};

/// The rules with light colors, and for browsers those with dark colors. Other viewers pass over the condition.
static LITERAL_RULES: LazyLock<String> = LazyLock::new(|| {
    let [light, dark] = [0, 1].map(|nth| resolved(PLOT_RULES, &palette(STYLE, nth)));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
});

/// `image` as a document with its own style and background.
pub(super) fn image(image: &str) -> String {
    let Some((head, rest)) = image.split_once('>') else {
        return image.to_owned();
    };
    let head = head.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
    format!(
        "{head}><style>{}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>{rest}",
        *LITERAL_RULES
    )
}

/// Names and values of the `nth` `:root` block of a style.
fn palette(style: &str, nth: usize) -> Vec<(&str, &str)> {
    let block = style.split(":root{").nth(nth + 1);
    let block = block.and_then(|rest| rest.split('}').next());
    block
        .unwrap_or_default()
        .split(';')
        .filter_map(|entry| entry.split_once(':'))
        .filter(|(name, _)| name.starts_with("--"))
        .collect()
}

fn resolved(rules: &str, palette: &[(&str, &str)]) -> String {
    palette
        .iter()
        .fold(rules.to_owned(), |rules, (name, value)| {
            rules.replace(&format!("var({name})"), value)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_is_left_open() {
        assert!(!LITERAL_RULES.contains("var("), "{}", *LITERAL_RULES);
        assert!(LITERAL_RULES.contains(".s0{fill:#4477aa}"));
        let dark = LITERAL_RULES.split("@media").nth(1).expect("a dark part");
        assert!(dark.contains(".s0{fill:#5b8fc7}"));
    }

    #[test]
    fn a_file_has_a_name_space_and_a_background() {
        let file = image("<svg width=\"2\"><g/></svg>");
        assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"2\"><style>"));
        assert!(file.contains("<rect class=\"paper\""));
    }
}
