use super::*;

#[test]
fn places_are_told_apart() {
    assert_eq!(
        Place::parse("compressed").expect("a place"),
        Place::Compressed
    );
    assert_eq!(
        Place::parse("/tmp").expect("a place"),
        Place::Folder("/tmp".into())
    );
    let both = Place::CompressedThen(4096, Box::new(Place::Folder("x,y".into())));
    assert_eq!(Place::parse("compressed:4096,x,y").expect("a place"), both);
    let server = Place::parse("tcp://localhost:7").expect("a place");
    assert!(matches!(server, Place::Server(_)));
    for text in ["tcp:x", "compressed:much,/tmp"] {
        Place::parse(text).expect_err("no place");
    }
}

#[test]
fn a_setup_survives_the_environment_and_names_what_is_wrong() {
    let mut setup = Setup::new(8 << 20, "compressed");
    assert_eq!(Setup::from_json(&setup.to_json()).expect("itself"), setup);
    setup.eviction = "oldest".to_owned();
    let text = setup.config().expect_err("no such policy").to_string();
    assert!(
        text.starts_with("there is no eviction policy \"oldest\": use one of migration-order, "),
        "{text}"
    );
    setup = Setup::new(8 << 10, "compressed");
    let text = setup.config().expect_err("too little").to_string();
    assert!(text.starts_with("8 KiB of frames are too few"), "{text}");
    let text = Place::parse("ftp://x").expect_err("no store").to_string();
    assert!(text.contains("ftp://x is no place"), "{text}");
    setup = Setup::new(8 << 20, "tcp://127.0.0.1:1");
    let text = setup.store().expect_err("no token").to_string();
    assert!(text.contains("--token-file"), "{text}");
}
