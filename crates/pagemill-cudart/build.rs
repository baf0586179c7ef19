//! Makes `libcudart.so.12` and `libcudart.so.13`: every symbol in its version node, jumping to the functions of the cdylib.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSIONS: [&str; 2] = ["12", "13"];

/// Functions of the C library that programs have to find here first: the fault handler stays installed.
const INTERPOSED: [&str; 2] = ["sigaction", "signal"];

fn main() {
    println!("cargo::rerun-if-changed=api.txt");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpagemill_cudart.so");
    let out = PathBuf::from(variable("OUT_DIR"));
    let table = std::fs::read_to_string("api.txt")
        .unwrap_or_else(|error| fail(&format!("api.txt: {error}")));
    let stand_in = stand_in(&out);
    for version in VERSIONS {
        shim(&out, version, &table, &stand_in);
    }
}

/// An empty library with the name of ours, which does not exist yet, so that the shims can ask for it.
fn stand_in(out: &Path) -> PathBuf {
    let source = write(out, "empty.s", ".section .note.GNU-stack,\"\",%progbits\n");
    let library = out.join("libpagemill_cudart.so");
    link(&[&source], &library, "libpagemill_cudart.so", &[]);
    library
}

fn shim(out: &Path, version: &str, table: &str, stand_in: &Path) {
    let name = format!("libcudart.so.{version}");
    let mut assembly = String::from(".text\n");
    let mut exported = String::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [function, versions, implementation] = words[..] else {
            fail(&format!("api.txt: three words are needed in {line:?}"))
        };
        if versions.split(',').any(|own| own == version) {
            assembly += &stub(function, implementation);
            let _ = writeln!(exported, "    {function};");
        }
    }
    for function in INTERPOSED {
        assembly += &stub(function, function);
    }
    assembly += ".section .note.GNU-stack,\"\",%progbits\n";
    let assembly = write(out, &format!("cudart{version}.s"), &assembly);
    let script = format!(
        "{name} {{\n  global:\n{exported}  local: *;\n}};\n{};\n",
        interposed_node()
    );
    let script = write(out, &format!("cudart{version}.map"), &script);
    let arguments = [
        format!("-Wl,--version-script={}", script.display()),
        "-Wl,--no-as-needed".to_owned(),
        stand_in.display().to_string(),
        "-Wl,-rpath,$ORIGIN".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    link(&[&assembly], &out.join(&name), &name, &arguments);
}

/// The version in which programs ask the C library for [`INTERPOSED`].
fn interposed_node() -> String {
    let version = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => "GLIBC_2.2.5",
        _ => "GLIBC_2.17",
    };
    format!("{version} {{ global: {}; }}", INTERPOSED.join("; "))
}

/// A symbol that jumps to `implementation`, or, where that is `-`, tells its own name to `pagemill_unsupported`.
fn stub(function: &str, implementation: &str) -> String {
    let jump = |target: &str| match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => format!("  jmp *{target}@GOTPCREL(%rip)\n"),
        "aarch64" => {
            format!("  adrp x16, :got:{target}\n  ldr x16, [x16, :got_lo12:{target}]\n  br x16\n")
        }
        other => fail(&format!(
            "the shims of the CUDA runtime are written for x86-64 and AArch64, not for {other}"
        )),
    };
    let body = match implementation {
        "-" => {
            let load = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
                "x86_64" => "  lea 2f(%rip), %rdi\n",
                _ => "  adr x0, 2f\n",
            };
            format!(
                "{load}{}2: .asciz \"{function}\"\n",
                jump("pagemill_unsupported")
            )
        }
        name => jump(&format!("pagemill_{name}")),
    };
    format!(
        ".globl {function}\n.type {function}, %function\n.balign 16\n{function}:\n{body}.size {function}, . - {function}\n"
    )
}

fn link(sources: &[&Path], library: &Path, soname: &str, arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command
        .args(["-shared", "-nostdlib", "-x", "assembler"])
        .args(sources)
        .args(["-x", "none", "-o"])
        .arg(library)
        .arg(format!("-Wl,-soname,{soname}"))
        .args(arguments);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("`{compiler}` could not link {soname} ({status})")),
        Err(error) => fail(&format!(
            "cannot start the C compiler `{compiler}`: {error}; install one or set CC"
        )),
    }
}

fn write(out: &Path, name: &str, text: &str) -> PathBuf {
    let path = out.join(name);
    if let Err(error) = std::fs::write(&path, text) {
        fail(&format!("cannot write {}: {error}", path.display()));
    }
    path
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| fail(&format!("cargo did not set {name}")))
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    std::process::exit(1)
}
