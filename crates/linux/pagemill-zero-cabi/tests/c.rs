//! The header and the library, from a C program.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_linux::hugetlb::{HugeSize, Reserve};
use pagemill_testkit::skip;
use pagemill_zero::engines::by_name;
use pagemill_zero::pool::{Config, Pool};

const PROGRAM: &str = r#"
#include <pagemill_zero.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    for (int round = 0; round < 3; round++) {
        size_t bytes = 4 << 20;
        unsigned char *memory = pagemill_zero_get(bytes, 60000);
        if (!memory) { fprintf(stderr, "%s\n", pagemill_zero_error()); return 1; }
        if ((size_t)memory % (2 << 20)) return 2;
        for (size_t i = 0; i < bytes; i++) if (memory[i]) return 3;
        memset(memory, 0xAA, bytes);
        if (pagemill_zero_put(memory)) return 4;
        if (pagemill_zero_put(memory) != -1 || !strstr(pagemill_zero_error(), "not borrowed")) return 5;
    }
    if (pagemill_zero_get((size_t)1 << 40, 0) || !strstr(pagemill_zero_error(), "more than")) return 6;
    return 0;
}
"#;

/// Where cargo puts the library: beside this test.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.parent().expect("a folder").to_owned()
}

#[test]
fn a_c_program_borrows_and_gives_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("main.c");
    std::fs::write(&source, PROGRAM).expect("written");
    let program = folder.path().join("main");
    let libraries = library_folder();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-O1", "-I"])
        .arg(include)
        .arg(&source)
        .arg("-L")
        .arg(&libraries)
        .args(["-lpagemill_zero_c", "-o"])
        .arg(&program)
        .status()
        .expect("a C compiler");
    assert!(built.success());
    let Ok(_reserve) = Reserve::more(HugeSize::Mib2, 4) else {
        return skip("no huge pages");
    };
    let config = Config::new(folder.path().join("zero.sock"), HugeSize::Mib2, 4);
    let mut pool = Pool::new(&config, by_name("auto").expect("a CPU")).expect("a pool");
    let stopper = pool.stopper();
    let thread = std::thread::spawn(move || pool.run(&mut |_| {}).expect("served"));
    let status = Command::new(&program)
        .env("PAGEMILL_ZERO_SOCKET", &config.socket)
        .env("LD_LIBRARY_PATH", &libraries)
        .status()
        .expect("it runs");
    stopper.stop();
    thread.join().expect("the daemon stays up");
    assert_eq!(status.code(), Some(0));
}
