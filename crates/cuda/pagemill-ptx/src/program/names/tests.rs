use super::*;

#[test]
fn names_are_those_of_the_source() {
    for (mangled, name) in [
        ("_Z3addPKfS0_Pfi", "add"),
        ("plain", "plain"),
        ("_ZN2ns5sweepIfEEvPT_", "ns::sweep<float>"),
        ("", ""),
    ] {
        assert_eq!(readable_name(mangled), name);
    }
}

#[test]
fn names_within_a_text_become_readable() {
    let text = "kernel _Z3addPKfS0_Pfi: block 3, _Znonsense; see _ZN2ns5sweepIfEEvPT_.";
    let readable = "kernel add: block 3, _Znonsense; see ns::sweep<float>.";
    assert_eq!(readable_text(text), readable);
    assert_eq!(readable_text("a.b  (ü) "), "a.b  (ü) ");
}
