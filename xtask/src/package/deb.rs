//! The Debian package, laid out by hand and closed by `dpkg-deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Profile;
use crate::process::{self, cargo};
use crate::workspace;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Crates whose library stands beside the command.
const LIBRARIES: [(&str, &str); 5] = [
    ("pagemill-cudart", "libpagemill_cudart.so"),
    ("pagemill-fabric", "libpagemill_fabric.so"),
    ("pagemill-preload", "libpagemill_preload.so"),
    ("pagemill-zero-preload", "libpagemill_zero_preload.so"),
    ("pagemill-zero-cabi", "libpagemill_zero_c.so"),
];

/// Builds `target/deb/pagemill_VERSION_ARCHITECTURE.deb`.
pub fn build(profile: Profile) -> Result<PathBuf> {
    compile(profile)?;
    let architecture = process::output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let folder = workspace::root().join("target/deb");
    let tree = folder.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot empty {}", tree.display()))?;
    }
    add_programs(&tree, profile)?;
    add_help(&tree, profile)?;
    add_modules(&tree)?;
    add_units(&tree)?;
    add_control(&tree, architecture)?;
    let deb = folder.join(format!("pagemill_{VERSION}_{architecture}.deb"));
    let mut close = Command::new("dpkg-deb");
    close.args(["--root-owner-group", "--build"]);
    process::output(close.arg(&tree).arg(&deb))?;
    Ok(deb)
}

fn compile(profile: Profile) -> Result<()> {
    let mut build = cargo(&["build", "--quiet", "--package", "pagemill-cli"]);
    for (package, _) in LIBRARIES {
        build.args(["--package", package]);
    }
    process::run(build.args(profile.arguments()))
}

fn add_programs(tree: &Path, profile: Profile) -> Result<()> {
    let built = profile.folder();
    copy(&built.join("pagemill"), &tree.join("usr/bin/pagemill"))?;
    for (_, library) in LIBRARIES {
        copy(&built.join(library), &tree.join("usr/lib").join(library))?;
    }
    Ok(())
}

fn add_help(tree: &Path, profile: Profile) -> Result<()> {
    let command = profile.folder().join("pagemill");
    let share = tree.join("usr/share");
    let files: [(&[&str], &str); 4] = [
        (&["manual"], "man/man1/pagemill.1"),
        (
            &["completions", "bash"],
            "bash-completion/completions/pagemill",
        ),
        (&["completions", "zsh"], "zsh/vendor-completions/_pagemill"),
        (
            &["completions", "fish"],
            "fish/vendor_completions.d/pagemill.fish",
        ),
    ];
    for (arguments, file) in files {
        let text = process::output(Command::new(&command).args(arguments))?;
        write(&share.join(file), &text)?;
    }
    process::run(
        Command::new("gzip")
            .args(["-9n"])
            .arg(share.join("man/man1/pagemill.1")),
    )?;
    let root = workspace::root();
    let licenses =
        ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| fs::read_to_string(root.join(name)));
    let mut copyright =
        "pagemill: MIT or Apache-2.0, at your choice. The kernel modules: GPL-2.0.\n\n".to_owned();
    for license in licenses {
        copyright.push_str(&license.context("a licence file is missing")?);
    }
    write(&share.join("doc/pagemill/copyright"), &copyright)
}

/// The sources of every module, how DKMS builds them, and what `pagemill mrc` watches programs with.
fn add_modules(tree: &Path) -> Result<()> {
    let sources = workspace::root().join("kmod");
    let target = tree.join(format!("usr/src/pagemill-{VERSION}"));
    let mut modules = Vec::new();
    for folder in workspace::entries(&sources)? {
        let name = folder.file_name().unwrap_or_default();
        copy_sources(&folder, &target.join(name))?;
        if folder.join("Kbuild").is_file() {
            modules.push(name.to_string_lossy().into_owned());
        }
    }
    write(&target.join("dkms.conf"), &dkms_conf(&modules))
}

fn dkms_conf(modules: &[String]) -> String {
    let mut conf = format!(
        "PACKAGE_NAME=\"pagemill\"\nPACKAGE_VERSION=\"{VERSION}\"\nAUTOINSTALL=\"yes\"\nCLEAN=\"true\"\n"
    );
    let makes: Vec<String> = modules
        .iter()
        .map(|name| {
            let built = "${dkms_tree}/${PACKAGE_NAME}/${PACKAGE_VERSION}/build";
            format!("make -C ${{kernel_source_dir}} M={built}/{name} modules")
        })
        .collect();
    conf.push_str(&format!("MAKE[0]=\"{}\"\n", makes.join(" && ")));
    for (number, name) in modules.iter().enumerate() {
        conf.push_str(&format!(
            "BUILT_MODULE_NAME[{number}]=\"{name}\"\nBUILT_MODULE_LOCATION[{number}]=\"{name}\"\nDEST_MODULE_LOCATION[{number}]=\"/extra\"\n"
        ));
    }
    conf
}

fn add_units(tree: &Path) -> Result<()> {
    for unit in workspace::entries(&workspace::root().join("deploy"))? {
        if unit
            .extension()
            .is_some_and(|extension| extension == "service")
        {
            let name = unit.file_name().unwrap_or_default();
            copy(&unit, &tree.join("usr/lib/systemd/system").join(name))?;
        }
    }
    Ok(())
}

fn add_control(tree: &Path, architecture: &str) -> Result<()> {
    let control = format!(
        "Package: pagemill\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: pagemill developers <pagemill@localhost>\n\
         Section: science\nPriority: optional\nDepends: libc6\nRecommends: dkms\nSuggests: openmpi-bin, qemu-system-x86, busybox-static\n\
         Description: what it costs to manage memory by pages\n \
         A simulator of page migration, unified memory, huge page zeroing, cache coloring\n \
         and network address translation, and the parts of it that work on real machines.\n"
    );
    let debian = tree.join("DEBIAN");
    write(&debian.join("control"), &control)?;
    let dkms =
        |action: &str| format!("if command -v dkms >/dev/null; then dkms {action} || true; fi\n");
    let module = format!("-m pagemill -v {VERSION}");
    script(
        &debian.join("postinst"),
        &format!(
            "[ \"$1\" = configure ] || exit 0\n{}{}",
            dkms(&format!("add {module}")),
            dkms(&format!("install {module}"))
        ),
    )?;
    script(
        &debian.join("prerm"),
        &dkms(&format!("remove {module} --all")),
    )
}

fn script(path: &Path, commands: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    write(path, &format!("#!/bin/sh\nset -e\n{commands}"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    make_folder_of(path)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// A folder without its tests.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    const TESTS: [&str; 2] = ["suites", "usertest"];
    if TESTS.iter().any(|name| from.ends_with(name)) {
        return Ok(());
    }
    for path in workspace::entries(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_sources(&path, &target)?;
        } else {
            copy(&path, &target)?;
        }
    }
    Ok(())
}
