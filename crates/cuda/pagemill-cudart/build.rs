//! Makes the libraries that programs look for: `libcudart.so.12` and `.13` with every symbol in its version node, `libcuda.so.1`,
//! `libnvidia-ml.so.1`, `libnvJitLink.so.12` and `.13`, `libcudnn.so.9`, and the one that is loaded before a program. All of them jump to the functions of the cdylib.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSIONS: [&str; 2] = ["12", "13"];

/// Functions of the runtime, the driver, the management library, the linker and cuDNN.
const TABLES: [&str; 5] = [
    "api.txt",
    "driver.txt",
    "nvml.txt",
    "nvjitlink.txt",
    "cudnn.txt",
];

/// One more than the last minor version whose names the linker's functions have.
const MINOR_VERSIONS: u32 = 10;

/// Functions of the C library that programs have to find here first: the fault handler stays installed.
const INTERPOSED: [&str; 2] = ["sigaction", "signal"];

/// Functions of the run-time compiler that programs find in the library that is loaded before them: machine code is PTX here.
const RUN_TIME_COMPILER: [&str; 2] = ["nvrtcGetCUBIN", "nvrtcGetCUBINSize"];

/// Functions of the C library by which programs look for the GPU's device file, found there too.
const DEVICE_FILES: [&str; 5] = ["stat", "stat64", "__xstat", "__xstat64", "access"];

fn main() {
    for table in TABLES {
        println!("cargo::rerun-if-changed={table}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpagemill_cudart.so");
    let out = PathBuf::from(variable("OUT_DIR"));
    let [api, driver, nvml, linker_table, cudnn] = TABLES.map(|table| {
        std::fs::read_to_string(table).unwrap_or_else(|error| fail(&format!("{table}: {error}")))
    });
    let stand_in = stand_in(&out);
    let linkers = VERSIONS.map(|version| linker(version, &linker_table));
    let start = Shim {
        interposes: true,
        at_load: Some("pagemill_start"),
        // Frameworks take a linker that is loaded already.
        loads: linkers.iter().map(|shim| shim.name.clone()).collect(),
        ..plain("libpagemill_start.so", "", 0, "")
    };
    let mut shims = vec![
        plain("libcuda.so.1", &driver, 3, "pagemill_unsupported_driver"),
        plain("libnvidia-ml.so.1", &nvml, 1, "pagemill_unsupported_nvml"),
    ];
    shims.extend(linkers);
    shims.push(Shim {
        has_node: true,
        ..plain("libcudnn.so.9", &cudnn, 1, "pagemill_unsupported_cudnn")
    });
    shims.push(start);
    shims.extend(VERSIONS.map(|version| runtime(version, &api)));
    for shim in &shims {
        build(&out, shim, &stand_in);
    }
}

/// An empty library with the name of ours, which does not exist yet, so that the shims can ask for it.
fn stand_in(out: &Path) -> PathBuf {
    let source = write(out, "empty.s", ".section .note.GNU-stack,\"\",%progbits\n");
    let library = out.join("libpagemill_cudart.so");
    link(&[&source], &library, "libpagemill_cudart.so", &[]);
    library
}

/// A library of symbols that jump to functions of the cdylib.
struct Shim {
    name: String,
    /// Symbols with what stands behind each; `-` for nothing.
    functions: BTreeMap<String, String>,
    /// What a symbol without an implementation calls with its own name.
    unsupported: &'static str,
    /// The version node of its symbols, if they have one.
    has_node: bool,
    /// Whether programs are to find [`INTERPOSED`] in it.
    interposes: bool,
    /// A function of the cdylib that runs when the library is loaded.
    at_load: Option<&'static str>,
    /// Shims made before this one that are loaded with it.
    loads: Vec<String>,
}

/// The shim of one version of the runtime.
fn runtime(version: &str, table: &str) -> Shim {
    let of_version = |words: &[&str]| words[1].split(',').any(|own| own == version);
    Shim {
        name: format!("libcudart.so.{version}"),
        functions: rows(table, 3)
            .filter(|words| of_version(words))
            .map(|words| (words[0].to_owned(), words[2].to_owned()))
            .collect(),
        unsupported: "pagemill_unsupported",
        has_node: true,
        interposes: true,
        at_load: None,
        loads: Vec::new(),
    }
}

/// The shim of one version of the linker.
fn linker(version: &str, table: &str) -> Shim {
    let mut functions = BTreeMap::new();
    for words in rows(table, 3) {
        if !words[1].split(',').any(|own| own == version) {
            continue;
        }
        let (name, implementation) = (words[0], words[2]);
        functions.insert(name.to_owned(), implementation.to_owned());
        if name != "nvJitLinkVersion" {
            let of_minor = |minor| format!("__{name}_{version}_{minor}");
            let names = (0..MINOR_VERSIONS).map(of_minor);
            functions.extend(names.map(|name| (name, implementation.to_owned())));
        }
    }
    Shim {
        name: format!("libnvJitLink.so.{version}"),
        functions,
        unsupported: "pagemill_unsupported",
        has_node: true,
        interposes: false,
        at_load: None,
        loads: Vec::new(),
    }
}

/// A shim whose symbols have no versions; `word` is the column of what stands behind them.
fn plain(name: &str, table: &str, word: usize, unsupported: &'static str) -> Shim {
    Shim {
        name: name.to_owned(),
        functions: rows(table, word + 1)
            .map(|words| (words[0].to_owned(), words[word].to_owned()))
            .collect(),
        unsupported,
        has_node: false,
        interposes: false,
        at_load: None,
        loads: Vec::new(),
    }
}

/// The rows of a table, each of `count` words.
fn rows(table: &str, count: usize) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() != count {
            fail(&format!("{count} words are needed in {line:?}"));
        }
        words
    })
}

fn build(out: &Path, shim: &Shim, stand_in: &Path) {
    let name = &shim.name;
    let mut assembly = String::from(".text\n");
    let mut exported = String::new();
    for (function, implementation) in &shim.functions {
        assembly += &stub(function, implementation, shim.unsupported);
        let _ = writeln!(exported, "    {function};");
    }
    if shim.interposes {
        for function in INTERPOSED {
            assembly += &stub(function, function, shim.unsupported);
        }
    }
    if let Some(function) = shim.at_load {
        // They have no version, so that programs of every version find them.
        for function in RUN_TIME_COMPILER.iter().chain(&DEVICE_FILES) {
            assembly += &stub(function, function, shim.unsupported);
        }
        let _ = write!(
            assembly,
            ".section .init_array,\"aw\"\n.balign 8\n.quad {function}\n"
        );
    }
    assembly += ".section .note.GNU-stack,\"\",%progbits\n";
    let assembly = write(out, &format!("{name}.s"), &assembly);
    let mut script = match (shim.has_node, exported.is_empty()) {
        (true, _) => format!("{name} {{\n  global:\n{exported}  local: *;\n}};\n"),
        (false, true) => String::new(),
        (false, false) => format!("{{\n  global:\n{exported}  local: *;\n}};\n"),
    };
    if shim.interposes {
        script += &format!("{};\n", interposed_node());
    }
    let script = write(out, &format!("{name}.map"), &script);
    let mut arguments = vec![
        format!("-Wl,--version-script={}", script.display()),
        "-Wl,--no-as-needed".to_owned(),
        stand_in.display().to_string(),
        "-Wl,-rpath,$ORIGIN".to_owned(),
    ];
    let path_of = |name| out.join(name).display().to_string();
    arguments.extend(shim.loads.iter().map(path_of));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    link(&[&assembly], &out.join(name), name, &arguments);
}

/// The version in which programs ask the C library for [`INTERPOSED`].
fn interposed_node() -> String {
    let version = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => "GLIBC_2.2.5",
        _ => "GLIBC_2.17",
    };
    format!("{version} {{ global: {}; }}", INTERPOSED.join("; "))
}

/// A symbol that jumps to `implementation`, or, where that is `-`, passes its own name to `unsupported`.
fn stub(function: &str, implementation: &str, unsupported: &str) -> String {
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
            format!("{load}{}2: .asciz \"{function}\"\n", jump(unsupported))
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
