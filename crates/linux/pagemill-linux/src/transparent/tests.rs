use super::*;

#[test]
fn the_kernel_marks_what_is_chosen() {
    for (text, expected) in [
        ("[always] madvise never\n", TransparentPages::Always),
        ("always [madvise] never\n", TransparentPages::Advised),
        ("always madvise [never]\n", TransparentPages::Never),
        ("", TransparentPages::Missing),
    ] {
        assert_eq!(TransparentPages::parse(text), expected);
    }
}

#[test]
fn counters_are_found_by_their_whole_names() {
    let text = "thp_fault_alloc_x 1\nthp_fault_alloc 42\nother 3\n";
    assert_eq!(count(text, "thp_fault_alloc"), Some(42));
    assert_eq!(count(text, "thp_fault"), None);
}

#[test]
fn a_program_runs_without_them() {
    let mut command = Command::new("grep");
    command.args(["-q", "THP_enabled:.*0", "/proc/self/status"]);
    without_transparent_pages(&mut command);
    if TransparentPages::read() != TransparentPages::Missing {
        assert!(command.status().expect("grep is there").success());
    }
}
