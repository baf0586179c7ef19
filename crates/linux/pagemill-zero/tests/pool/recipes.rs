//! The recipes of `docs/zeroing.md`, with the real programs.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use pagemill_testkit::skip;
use pagemill_zero::pool::ShelfSpec;
use pagemill_zero_client::Request;

use crate::running::{PAGE, pool};

#[test]
fn qemu_takes_a_lent_file_as_its_guests_memory() {
    const GUEST_PAGES: usize = 32;
    const MARK: u32 = 0x600D_CAFE;
    let shelf = ShelfSpec {
        file_pages: GUEST_PAGES,
        files: 1,
    };
    let Some(running) = pool(GUEST_PAGES, |config| config.shelves = vec![shelf]) else {
        return;
    };
    running.until_clean();
    let mut client = running.client();
    let request = Request::bytes(GUEST_PAGES as u64 * PAGE).single_file();
    let lease = client.lease(&request).expect("one file");
    let mut memory = lease.map(true).expect("mapped");
    memory.bytes_mut()[1 << 20..][..4].copy_from_slice(&MARK.to_le_bytes());
    let descriptor = lease.files()[0].descriptor.as_raw_fd();
    let backend = format!(
        "memory-backend-file,id=ram,size=64M,share=on,mem-path=/proc/{}/fd/{descriptor}",
        std::process::id()
    );
    let qemu = Command::new("qemu-system-x86_64")
        .args([
            "-accel",
            "tcg",
            "-nodefaults",
            "-display",
            "none",
            "-S",
            "-m",
            "64M",
        ])
        .args([
            "-machine",
            "pc,memory-backend=ram",
            "-object",
            &backend,
            "-monitor",
            "stdio",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut qemu) = qemu else {
        return skip("there is no qemu-system-x86_64");
    };
    let mut monitor = qemu.stdin.take().expect("piped");
    monitor
        .write_all(b"xp /1wx 0x100000\nquit\n")
        .expect("it reads");
    drop(monitor);
    let output = qemu.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("0x600dcafe"),
        "the guest sees the lent memory: {said}"
    );
    drop(memory);
    client.give_back(lease).expect("given back");
    running.until_clean();
}
