use super::*;

fn shown(text: &str, span: Range<usize>, label: Option<&str>, color: bool) -> String {
    let message = Message {
        text: "wrong\ntwice",
        place: Some((&SourceText::given("a.toml", text), span)),
        label,
        help: Some("do\nthis"),
    };
    message.render(color)
}

#[test]
fn the_place_is_marked_between_its_neighbors() {
    let text = "one\r\n\tä = 12\nthree\nfour\n";
    assert_eq!(
        shown(text, 11..13, Some("a number"), false),
        "  × wrong\n  │ twice\n   ╭─[a.toml:2:6]\n 1 │ one\n 2 │     ä = 12\n   ·         ─┬\n   ·          ╰── a number\n 3 │ three\n   ╰────\n  help: do\n        this\n"
    );
}

#[test]
fn a_place_may_be_empty_at_the_end_or_of_many_lines() {
    let end = "   ╭─[a.toml:1:4]\n 1 │ one\n   ·     ▲\n   ╰────\n";
    assert!(shown("one\n", 4..4, None, false).contains(end));
    let none = "   ╭─[a.toml:1:1]\n 1 │ \n   · ▲\n   ╰────\n";
    assert!(shown("", 0..0, None, false).contains(none));
    let many = "   ╭─[a.toml:1:3]\n 1 │ a [\n   ·   ──\n 2 │ 1,\n   ╰────\n";
    assert!(shown("a [\n1,\n]\n", 2..7, None, false).contains(many));
}

#[test]
fn colors_are_escape_codes_around_the_same_text() {
    let colored = shown("a = 1\n", 4..5, Some("one"), true);
    let mut plain = colored.clone();
    for code in [MARK, ERROR, PLACE, NUMBER, HELP, "0"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_ne!(colored, plain);
    assert_eq!(plain, shown("a = 1\n", 4..5, Some("one"), false));
}
