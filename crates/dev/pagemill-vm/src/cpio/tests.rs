use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

fn example() -> Vec<u8> {
    let mut archive = Archive::new();
    archive.folder("bin");
    archive.file("bin/odd", b"12345");
    archive.device("console", 5, 1);
    archive.finish()
}

#[test]
fn every_part_starts_at_a_word() {
    let bytes = example();
    assert_eq!(bytes.len() % 4, 0);
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at..].starts_with(b"070701"))
        .collect();
    assert_eq!(starts.len(), 4);
    assert!(starts.iter().all(|at| at % 4 == 0));
    assert_eq!(bytes, example());
}

/// busybox and GNU cpio both read it; whichever is there is asked.
#[test]
fn others_can_read_it() {
    let readers: [&[&str]; 2] = [&["cpio", "-t"], &["busybox", "cpio", "-t"]];
    for reader in readers {
        let child = Command::new(reader[0])
            .args(&reader[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { continue };
        child.stdin.take().unwrap().write_all(&example()).unwrap();
        let listed = child.wait_with_output().unwrap().stdout;
        assert_eq!(
            String::from_utf8(listed).unwrap(),
            "bin\nbin/odd\nconsole\n"
        );
    }
}
