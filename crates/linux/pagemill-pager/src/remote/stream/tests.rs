use super::*;

#[test]
fn addresses_are_written_as_they_are_read() {
    for text in [
        "tcp://127.0.0.1:7070",
        "tcp://[::1]:7070",
        "tcp://host:1",
        "unix:/run/p.sock",
    ] {
        assert_eq!(
            text.parse::<Address>().expect("an address").to_string(),
            text
        );
    }
    for text in [
        "",
        "tcp://",
        "tcp://host",
        "tcp://host:99999",
        "tcp://:80",
        "unix:",
        "some/folder",
    ] {
        let error = text.parse::<Address>().expect_err("no address").to_string();
        assert!(
            error.ends_with("write tcp://HOST:PORT or unix:PATH"),
            "{error}"
        );
    }
}
