//! The header and the library, from C programs and from Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pagemill_testkit::skip;

const PROGRAM: &str = r#"
#include <pagemill_pager.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    pagemill_pager *(*open)(uint64_t, const char *) = argc > 1 ? pagemill_pager_open_in_thread : pagemill_pager_open;
    if (open(4096, "compressed") || !strstr(pagemill_pager_error(), "too few")) return 1;
    if (open(8 << 20, "/none/such") || !strstr(pagemill_pager_error(), "/none/such")) return 2;
    pagemill_pager *pager = open(1 << 20, "compressed");
    if (!pager) { fprintf(stderr, "%s\n", pagemill_pager_error()); return 77; }
    if (*pagemill_pager_error()) return 3;
    size_t bytes = 6 << 20;
    unsigned char *one = pagemill_pager_map(pager, bytes), *other = pagemill_pager_map(pager, bytes);
    if (!one || !other || (size_t)one % (2 << 20)) return 4;
    for (size_t i = 0; i < bytes; i++) if (one[i]) return 5;
    for (size_t i = 0; i < bytes; i++) { one[i] = i * 7; other[i] = i * 11; }
    for (size_t i = 0; i < bytes; i++) if (one[i] != (unsigned char)(i * 7) || other[i] != (unsigned char)(i * 11)) return 6;
    if (pagemill_pager_count(pager, "resident_units_max") > 256) return 7;
    if (pagemill_pager_count(pager, "fetched_units") < 1000) return 8;
    if (pagemill_pager_count(pager, "none") != UINT64_MAX || !strstr(pagemill_pager_error(), "none")) return 9;
    if (pagemill_pager_unmap(pager, one) || pagemill_pager_unmap(pager, one) != -1) return 10;
    if (!strstr(pagemill_pager_error(), "not mapped")) return 11;
    if (pagemill_pager_map(pager, (size_t)1 << 60) || !*pagemill_pager_error()) return 12;
    if (other[12345] != (unsigned char)(12345 * 11)) return 13;
    if (pagemill_pager_map_file(pager, "/none/such", "r", 0, 1) || !strstr(pagemill_pager_error(), "/none/such")) return 14;
    if (pagemill_pager_map_file(pager, argv[0], "rw", 0, 1) || !strstr(pagemill_pager_error(), "\"rw\"")) return 15;
    unsigned char *file = pagemill_pager_map_file(pager, "data", "w+", 100, 3 << 20);
    if (!file) return 16;
    for (size_t i = 0; i < 3 << 20; i++) file[i] = i * 13;
    if (pagemill_pager_flush(pager, file) || pagemill_pager_unmap(pager, file)) return 17;
    if (pagemill_pager_flush(pager, file) != -1) return 18;
    FILE *data = fopen("data", "rb");
    for (size_t i = 0; i < (3 << 20) + 100; i++) if (fgetc(data) != (unsigned char)(i < 100 ? 0 : (i - 100) * 13)) return 19;
    if (fgetc(data) != EOF) return 20;
    pagemill_pager_close(pager);
    pagemill_pager_close(NULL);
    return 0;
}
"#;

/// Where cargo puts the library: beside this test.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.parent().expect("a folder").to_owned()
}

fn built_and_run(source: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let program = folder.join("main");
    let libraries = library_folder();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let built = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(include)
        .arg(source)
        .arg("-L")
        .arg(&libraries)
        .args(["-lpagemill_pager_c", "-o"])
        .arg(&program)
        .status()
        .expect("a C compiler");
    assert!(built.success());
    (Command::new(&program)
        .args(arguments)
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", &libraries))
    .output()
    .expect("it runs")
}

#[test]
fn a_c_program_has_more_memory_than_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("main.c");
    std::fs::write(&source, PROGRAM).expect("written");
    for arguments in [&[][..], &["in-thread"]] {
        let output = built_and_run(&source, folder.path(), arguments);
        if output.status.code() == Some(77) {
            return skip("there is no userfaultfd with UFFDIO_MOVE for this user");
        }
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_example_adds_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/pager/sum.c");
    let output = built_and_run(&source, folder.path(), &[]);
    if output.status.code() == Some(2) {
        return skip("there is no userfaultfd with UFFDIO_MOVE for this user");
    }
    let count: u64 = 8 << 20;
    let sum = (0..count).fold(0_u64, |sum, number| {
        sum.wrapping_add(number.wrapping_mul(number))
    });
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with(&format!("sum {sum}, ")), "{output:?}");
}

#[test]
fn python_has_more_memory_than_frames() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The first Python on the path may lack the NumPy that is installed for Debian's.
    let debian = Path::new("/usr/bin/python3");
    let python = if debian.exists() {
        debian
    } else {
        Path::new("python3")
    };
    let output = Command::new(python)
        .arg(crate_folder.join("tests/python.py"))
        .env("PYTHONPATH", crate_folder.join("../../../clients/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env(
            "PAGEMILL_PAGER_LIBRARY",
            library_folder().join("libpagemill_pager_c.so"),
        )
        .output();
    let Ok(output) = output else {
        return skip("there is no python3");
    };
    if output.status.code() == Some(77) {
        return skip("there is no userfaultfd with UFFDIO_MOVE for this user");
    }
    if output.status.code() == Some(78) {
        return skip("there is no NumPy: only memory without it was tried");
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
