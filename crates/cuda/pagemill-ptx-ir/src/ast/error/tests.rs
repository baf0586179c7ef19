use super::*;

#[test]
fn display_names_place_line_and_help() {
    let error = PtxError::new("a.ptx", 2, "no such register")
        .with_text("x\n  add;\n")
        .with_help("declare it");
    assert_eq!(
        error.to_string(),
        "a.ptx:2: no such register\n    add;\n  help: declare it"
    );
}

#[test]
fn a_line_that_is_not_there_is_left_out() {
    assert_eq!(
        PtxError::new("a", 9, "m").with_text("x").to_string(),
        "a:9: m"
    );
    assert_eq!(
        PtxError::new("a", 0, "m").with_text("x").to_string(),
        "a: m"
    );
}
