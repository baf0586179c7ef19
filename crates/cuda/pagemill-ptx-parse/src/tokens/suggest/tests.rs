use super::nearest;

#[test]
fn near_names_only() {
    let names = ["counter", "buffer", "x"];
    let suggest = |name| nearest(name, names.into_iter());
    assert_eq!(
        suggest("conuter").as_deref(),
        Some("did you mean `counter`?")
    );
    assert_eq!(suggest("bufer").as_deref(), Some("did you mean `buffer`?"));
    assert_eq!(suggest("elsewhere"), None);
    assert_eq!(suggest(&"x".repeat(1000)), None);
}
