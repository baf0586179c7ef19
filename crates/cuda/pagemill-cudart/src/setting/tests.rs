use super::*;
use pagemill_wire::DEFAULT_MACHINE;

#[test]
fn threads_are_a_number_above_zero() {
    assert_eq!(threads(Some("3".into())).ok(), Some(3));
    for wrong in ["0", "-1", "many", ""] {
        let error = threads(Some(wrong.into())).expect_err(wrong);
        assert!(error.to_string().contains("at least 1"), "{error}");
    }
    assert!(threads(None).is_ok_and(|threads| threads > 0));
}

#[test]
fn the_default_is_sound() {
    let setting = Setting::from_text(DEFAULT_SCENARIO).expect("it is sound");
    assert!(
        matches!(setting.mode, TransferMode::Driver(_)),
        "{:?}",
        setting.mode
    );
    assert!(DEFAULT_SCENARIO.contains(DEFAULT_MACHINE));
}

#[test]
fn what_is_wrong_is_told() {
    let sweep = format!(
        "{DEFAULT_SCENARIO}\n[sweep]\n\"transfer.mode\" = [\"whole-page\", \"ideal-overlap\"]\n"
    );
    for (text, part) in [(sweep.as_str(), "without a sweep"), ("kind = 3", "kind")] {
        let error = Setting::from_text(text)
            .expect_err("it is wrong")
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    let missing = Path::new("/nonexistent/folder");
    assert!(Setting::from_folder(missing).is_err());
}
