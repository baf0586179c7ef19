use super::*;

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer::new(text);
    let next = || lexer.next().expect("valid text");
    std::iter::from_fn({
        let mut next = next;
        move || Some(next()).filter(|token| *token != Token::End)
    })
    .collect()
}

#[test]
fn an_instruction() {
    use Token::*;
    let found = tokens("@!%p1 ld.shared::cta.u32 %r1, [%rd2+-4]; // tail\n/* x\n */ ret;");
    let wanted = [
        Punct(b'@'),
        Punct(b'!'),
        Ident("%p1"),
        Ident("ld"),
        Dot("shared::cta"),
        Dot("u32"),
        Ident("%r1"),
        Punct(b','),
        Punct(b'['),
        Ident("%rd2"),
        Punct(b'+'),
        Punct(b'-'),
        Integer(4),
        Punct(b']'),
        Punct(b';'),
        Ident("ret"),
        Punct(b';'),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn lines_are_counted_through_comments() {
    let mut lexer = Lexer::new("a\n/* b\nc */ d # e\n\"f\" g");
    let mut lines = Vec::new();
    while lexer.next().expect("valid text") != Token::End {
        lines.push(lexer.line);
    }
    assert_eq!(lines, [1, 3, 4, 4]);
}

#[test]
fn unclosed_things_and_strange_characters_are_errors() {
    for text in ["/* a", "\"a", "\"a\\", "é", "`", "\u{0}"] {
        assert!(Lexer::new(text).next().is_err(), "{text:?}");
    }
}
