use super::*;

#[test]
fn the_release_is_read_from_the_dependency() {
    let depends = ["linux-base", "linux-image-6.1.0-56-amd64"].map(str::to_owned);
    assert_eq!(
        release_in(depends.to_vec()).as_deref(),
        Some("6.1.0-56-amd64")
    );
    assert_eq!(release_in(Vec::new()), None);
}

#[test]
fn headers_name_what_they_include_and_their_compiler() {
    let of = |needed: &[&str]| {
        let needed = needed.iter().map(|&name| name.to_owned()).collect();
        let packages = HeaderPackages::among("linux-headers-7.2-amd64".to_owned(), needed);
        (packages.sources, packages.compiler)
    };
    let (sources, compiler) = of(&[
        "gcc-16-for-host",
        "linux-base",
        "linux-headers-7.2-common",
        "linux-kbuild-7.2",
    ]);
    assert_eq!(sources, ["linux-headers-7.2-common", "linux-kbuild-7.2"]);
    assert_eq!(compiler.as_deref(), Some("gcc-16"));
    assert_eq!(of(&["linux-compiler-gcc-12-x86"]), (Vec::new(), None));
}

#[test]
fn a_kernel_is_found_where_either_package_has_it() {
    for place in ["boot/vmlinuz-7.2", "usr/lib/modules/7.2/vmlinuz"] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(image(folder.path(), "7.2"), None);
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        assert_eq!(image(folder.path(), "7.2"), Some(path));
    }
}

#[test]
fn unpacked_headers_include_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let makefile = folder.path().join("Makefile");
    std::fs::write(
        &makefile,
        "include /usr/src/linux-headers-common/Makefile\n",
    )
    .unwrap();
    for _ in 0..2 {
        lead_to(&makefile, Path::new("/kept/usr/src")).unwrap();
        assert_eq!(
            std::fs::read_to_string(&makefile).unwrap(),
            "include /kept/usr/src/linux-headers-common/Makefile\n"
        );
    }
}

#[test]
fn a_damaged_kernel_has_no_version() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("vmlinuz");
    assert_eq!(version_in(&image), None);
    std::fs::write(&image, [0xff; 0x210]).unwrap();
    assert_eq!(version_in(&image), None);
}
