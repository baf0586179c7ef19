use super::*;

#[test]
fn libraries_are_read_from_ldd() {
    let path = |line| library_in(line).map(|path| path.display().to_string());
    assert_eq!(
        path("\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)").as_deref(),
        Some("/lib/x/libc.so.6")
    );
    assert_eq!(
        path("\t/lib64/ld.so.2 (0x7f)").as_deref(),
        Some("/lib64/ld.so.2")
    );
    assert_eq!(path("\tlinux-vdso.so.1 (0x7f)"), None);
    assert_eq!(path("\tnot a dynamic executable"), None);
}

#[test]
fn guest_paths_have_no_root_and_no_detours() {
    assert_eq!(guest_path(Path::new("/lib64/ld.so")), "lib64/ld.so");
    assert_eq!(guest_path(Path::new("/usr/lib/a/../b.so")), "usr/lib/b.so");
}

#[test]
fn folders_come_before_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    std::fs::write(&file, "x").unwrap();
    let mut files = Files::default();
    files.add("a/b/x", &file).unwrap();
    files.add("bin/x", &file).unwrap();
    let mut archive = Archive::new();
    files.pack(&mut archive, &["bin"]).unwrap();
    let bytes = archive.finish();
    let at = |name: &[u8]| bytes.windows(name.len()).position(|part| part == name);
    assert!(at(b"a\0") < at(b"a/b\0") && at(b"a/b\0") < at(b"a/b/x\0"));
    assert_eq!(at(b"bin\0"), None);
}
