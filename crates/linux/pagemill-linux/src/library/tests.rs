use super::*;

#[test]
fn packages_and_cargo_each_have_their_place() {
    let root = tempfile::tempdir().unwrap();
    let bin = root.path().join("bin");
    let command = bin.join("pagemill");
    let error = find_of(&command, "libx.so").unwrap_err().to_string();
    assert!(error.starts_with("libx.so is not in "), "{error}");
    // What builds the command alone would build most of it again, for other features.
    assert!(
        error.ends_with("; `cargo build --release` makes it"),
        "{error}"
    );
    // From the last place to the first: each hides those after it.
    for place in FOLDERS.iter().rev() {
        let folder = bin.join(place);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libx.so"), "").unwrap();
        assert_eq!(find_of(&command, "libx.so"), Ok(folder.join("libx.so")));
    }
}
