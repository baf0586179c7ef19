use super::*;

#[test]
fn a_figure_is_one_marked_line() {
    let line = figure_line("vector-add-functional", 1.5e9, "thread-instructions/s");
    assert_eq!(
        line,
        "pagemill-bench vector-add-functional 1500000000 thread-instructions/s"
    );
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let asked = |arguments: &[&str]| {
        is_asked_for(
            "mrc-stream",
            arguments.iter().map(|argument| argument.to_string()),
        )
    };
    assert!(asked(&["--bench"]) && asked(&["mrc", "--bench"]) && asked(&["gpu", "stream"]));
    assert!(!asked(&["gpu", "--bench"]));
}

#[test]
fn the_work_is_warmed_up_and_repeated() {
    let mut runs = 0;
    // Under whatever name, so that a filter of tests does not leave it out.
    rate(&std::env::args().collect::<String>(), "runs/s", || {
        runs += 1;
        runs
    });
    assert_eq!(runs, 6);
}
