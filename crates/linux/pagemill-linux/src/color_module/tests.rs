use super::*;

#[test]
fn layout_and_requests_are_those_of_the_header() {
    let folder = tempfile::tempdir().expect("a folder");
    let header = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../kmod/uapi/pagemill_color.h"
    );
    let source = format!(
        "#include <stdio.h>\n#include <stddef.h>\n#include \"{header}\"\nint main(void) {{ printf(\"%lu %lu %lu %lu %lu %zu %zu %zu %d %d\\n\", \
             (unsigned long)PAGEMILL_COLOR_IOC_INFO, (unsigned long)PAGEMILL_COLOR_IOC_SET, (unsigned long)PAGEMILL_COLOR_IOC_RECOLOR, \
             (unsigned long)PAGEMILL_COLOR_IOC_RELEASE, (unsigned long)PAGEMILL_COLOR_IOC_REPORT, \
             offsetof(struct pagemill_color_report, pages), offsetof(struct pagemill_color_report, flushes), \
             offsetof(struct pagemill_color_recolor, planned), PAGEMILL_COLOR_VERSION, PAGEMILL_COLOR_COLORS_MAX); }}\n"
    );
    let (path, program) = (folder.path().join("a.c"), folder.path().join("a"));
    std::fs::write(&path, source).expect("written");
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.arg("-o").arg(&program).arg(&path).status();
    assert!(built.expect("a C compiler").success());
    let told = std::process::Command::new(&program)
        .output()
        .expect("it runs");
    let expected = format!(
        "{IOC_INFO} {IOC_SET} {IOC_RECOLOR} {IOC_RELEASE} {IOC_REPORT} {} {} {} {VERSION} {COLORS_MAX}\n",
        std::mem::offset_of!(Report, counts) + std::mem::offset_of!(Counts, pages),
        std::mem::offset_of!(Report, counts) + std::mem::offset_of!(Counts, flushes),
        std::mem::offset_of!(Recolor, planned),
    );
    assert_eq!(String::from_utf8_lossy(&told.stdout), expected);
}

#[test]
fn a_range_of_colors_is_a_set_of_bits() {
    let choice = Choice::new(&(60..130), WhenEmpty::Fail);
    assert_eq!(choice.set[..4], [0xf << 60, u64::MAX, 0b11, 0]);
    assert_eq!(choice.rule, 2);
}
