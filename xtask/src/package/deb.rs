//! The Debian package `pagemill`: the command, the libraries that it gives to other programs, their help and units.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::control::{License, Package, shared_libraries};
use super::files::{copy, copy_stripped, emptied, script, write, write_zipped};
use super::{Profile, portable};
use crate::built;
use crate::process;
use crate::workspace;

/// Crates whose libraries the command gives to other programs, or which C programs link.
const LIBRARIES: [(&str, &str); 8] = [
    ("pagemill-cudart", "libpagemill_cudart.so"),
    ("pagemill-fabric", "libpagemill_fabric.so"),
    ("pagemill-gpu-front", "libpagemill_gpu_front.so"),
    ("pagemill-pager-cabi", "libpagemill_pager_c.so"),
    ("pagemill-pager-preload", "libpagemill_pager_preload.so"),
    ("pagemill-color-preload", "libpagemill_color_preload.so"),
    ("pagemill-zero-preload", "libpagemill_zero_preload.so"),
    ("pagemill-zero-cabi", "libpagemill_zero_c.so"),
];

/// Builds the command and its libraries, and packs them.
pub fn build(folder: &Path, profile: Profile) -> Result<PathBuf> {
    compile(profile)?;
    let tree = folder.join("pagemill");
    emptied(&tree)?;
    let programs = add_programs(&tree, profile)?;
    add_help(&tree, &profile.folder().join("pagemill"))?;
    add_examples(&tree)?;
    add_recorder(&tree.join("usr/share/pagemill/kmod"))?;
    add_units(&tree)?;
    let architecture = process::output(Command::new("dpkg").arg("--print-architecture"))?;
    let depends = shared_libraries(&tree, &programs)?;
    let package = Package {
        name: "pagemill",
        architecture: architecture.trim(),
        section: "science",
        relations: &[
            ("Depends", &depends),
            (
                "Suggests",
                "pagemill-dkms, openmpi-bin, libfabric1, qemu-user, gcc",
            ),
        ],
        summary: "what it costs to manage memory by pages",
        description: &[
            "A simulator of page migration between CPU and GPU, unified memory, clearing",
            "of huge pages, cache coloring and address translation in network interfaces,",
            "and the parts of it that work on real machines: a CUDA runtime that needs no",
            "GPU, MPI over a simulated network, a pool of clean huge pages, and memory in",
            "chosen cache colors.",
        ],
        license: License::MitOrApache,
    };
    package.close(&tree, profile.compression())
}

fn compile(profile: Profile) -> Result<()> {
    if profile == Profile::Dev {
        return built::provide();
    }
    let mut build = portable::cargo_build()?;
    build.args(["--package", "pagemill-cli"]);
    for (package, _) in LIBRARIES {
        build.args(["--package", package]);
    }
    process::run(&mut build)
}

/// Gives the paths of what was added.
fn add_programs(tree: &Path, profile: Profile) -> Result<Vec<PathBuf>> {
    let mut added = vec![PathBuf::from("usr/bin/pagemill")];
    copy_stripped(&profile.folder().join("pagemill"), &tree.join(&added[0]))?;
    for (_, library) in LIBRARIES {
        // Not where the linker looks by itself: most of them replace parts of other libraries.
        let path = Path::new("usr/lib/pagemill").join(library);
        copy_stripped(&profile.folder().join(library), &tree.join(&path))?;
        added.push(path);
    }
    if profile == Profile::Release {
        for file in &added {
            portable::check(&tree.join(file))?;
        }
    }
    for (package, header) in [
        ("pagemill-pager-cabi", "pagemill_pager.h"),
        ("pagemill-zero-cabi", "pagemill_zero.h"),
    ] {
        let folder = workspace::crate_folder(package)?;
        copy(
            &folder.join("include").join(header),
            &tree.join("usr/include").join(header),
        )?;
    }
    Ok(added)
}

fn add_help(tree: &Path, command: &Path) -> Result<()> {
    let share = tree.join("usr/share");
    let told = |arguments: &[&str]| process::output(Command::new(command).args(arguments));
    for (shell, file) in [
        ("bash", "bash-completion/completions/pagemill"),
        ("zsh", "zsh/vendor-completions/_pagemill"),
        ("fish", "fish/vendor_completions.d/pagemill.fish"),
    ] {
        write(&share.join(file), &told(&["completions", shell])?)?;
    }
    let pages = tree.with_extension("man");
    emptied(&pages)?;
    told(&["manual", "--out", &pages.display().to_string()])?;
    for page in std::fs::read_dir(&pages)? {
        let page = page?;
        let text = std::fs::read_to_string(page.path())?;
        write_zipped(&share.join("man/man1").join(page.file_name()), &text)?;
    }
    Ok(())
}

fn add_examples(tree: &Path) -> Result<()> {
    let examples = tree.join("usr/share/doc/pagemill/examples");
    let clients = workspace::root().join("clients/python");
    for client in ["pagemill_pager.py", "pagemill_zero.py"] {
        copy(&clients.join(client), &examples.join(client))?;
    }
    Ok(())
}

/// What `pagemill mrc` compiles to record programs.
fn add_recorder(target: &Path) -> Result<()> {
    let kmod = workspace::root().join("kmod");
    for folder in ["plugin_cache", "include", "uapi"] {
        for file in workspace::entries(&kmod.join(folder))? {
            if file.is_file() {
                copy(&file, &target.join(file.strip_prefix(&kmod)?))?;
            }
        }
    }
    Ok(())
}

/// Neither is started: one takes memory from all users, the other waits for a module.
fn add_units(tree: &Path) -> Result<()> {
    let mut units = Vec::new();
    for unit in workspace::entries(&workspace::root().join("deploy"))? {
        if unit
            .extension()
            .is_some_and(|extension| extension == "service")
        {
            let name = unit
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            copy(&unit, &tree.join("usr/lib/systemd/system").join(&name))?;
            units.push(name);
        }
    }
    let units = units.join(" ");
    let reload = "if [ -d /run/systemd/system ]; then\n    systemctl --system daemon-reload >/dev/null || true\nfi\n";
    script(
        tree,
        "postinst",
        &format!("[ \"$1\" = configure ] || exit 0\n{reload}"),
    )?;
    script(
        tree,
        "prerm",
        &format!(
            "[ \"$1\" = remove ] || exit 0\nif [ -d /run/systemd/system ]; then\n    deb-systemd-invoke stop {units} >/dev/null || true\nfi\n"
        ),
    )?;
    script(tree, "postrm", &format!("{}{reload}", purge(&units)))
}

/// Removes what an administrator may have made for the units, and what they leave behind.
fn purge(units: &str) -> String {
    format!(
        "if [ \"$1\" = purge ]; then\n    \
         for unit in {units}; do\n        \
         rm -f \"/etc/default/${{unit%.service}}\" /etc/systemd/system/*.wants/\"$unit\"\n        \
         rm -rf \"/etc/systemd/system/$unit.d\"\n    \
         done\n    \
         rm -rf /run/pagemill\n\
         fi\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// README tells users to run `cargo build --release`.
    #[test]
    fn a_plain_build_makes_every_library() {
        let manifest = std::fs::read_to_string(workspace::root().join("Cargo.toml")).unwrap();
        let (_, members) = manifest.split_once("default-members = [").unwrap();
        let (members, _) = members.split_once(']').unwrap();
        for (package, _) in LIBRARIES {
            assert!(members.contains(&format!("/{package}\"")), "{package}");
        }
    }
}
