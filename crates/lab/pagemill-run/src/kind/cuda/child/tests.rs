use super::*;

#[test]
fn flags_of_the_user_count() {
    let with = |own: Option<&str>| {
        let flags = xla_flags(own.map(OsString::from));
        flags.into_string().expect("plain text")
    };
    assert_eq!(with(None), XLA_FLAGS);
    assert_eq!(with(Some("")), XLA_FLAGS);
    let own = "--xla_gpu_autotune_level=4";
    assert_eq!(with(Some(own)), format!("{XLA_FLAGS} {own}"));
    assert_eq!(with(Some("flags.txt")), "flags.txt");
}

#[test]
fn the_assembler_hands_ptx_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    write_ptxas(&path(PTXAS)).expect("written");
    std::fs::write(path("in.ptx"), ".version 8.0\n").expect("written");
    let status = Command::new("sh")
        .arg(path(PTXAS))
        .arg(path("in.ptx"))
        .args(["-arch=sm_90a", "--warn-on-spills", "-o"])
        .arg(path("out"))
        .status();
    assert!(status.expect("a shell").success());
    let out = std::fs::read(path("out")).expect("made");
    assert_eq!(out, b".version 8.0\n\0");
}
