//! The Debian package `pagemill-dkms`: the sources of every kernel module, built on the machine where they are to run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use pagemill_vm::{ARCHITECTURES, KERNEL_SERIES, kernel_series_in_words};

use super::Profile;
use super::control::{License, Package, VERSION};
use super::files::{copy, emptied, script, write};
use crate::{process, workspace};

/// Folders of `kmod/` that modules include from.
const SHARED: [&str; 2] = ["include", "uapi"];

/// Packs the sources.
pub fn build(folder: &Path, profile: Profile) -> Result<PathBuf> {
    let tree = folder.join("pagemill-dkms");
    emptied(&tree)?;
    add_sources(&tree.join(source_folder()))?;
    add_scripts(&tree)?;
    let series = kernel_series_in_words();
    let kernels = format!("Sources of two kernel modules for Linux {series}: pagemill_color gives");
    let package = Package {
        name: "pagemill-dkms",
        architecture: "all",
        section: "kernel",
        relations: &[("Depends", "dkms (>= 3)"), ("Enhances", "pagemill")],
        summary: "kernel modules of pagemill, built by DKMS",
        description: &[
            &kernels,
            "tasks memory in chosen colors of a shared cache, pagemill_zero clears huge",
            "pages before they are asked for. They are built for every kernel of these",
            "series whose headers are installed; none is loaded.",
        ],
        license: License::Gpl2,
    };
    package.close(&tree, profile.compression())
}

/// Where DKMS looks for them.
fn source_folder() -> String {
    format!("usr/src/pagemill-{VERSION}")
}

fn add_sources(target: &Path) -> Result<()> {
    let mut modules = Vec::new();
    for folder in workspace::entries(&workspace::root().join("kmod"))? {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_module = folder.join("Kbuild").is_file();
        if is_module || SHARED.contains(&name.as_str()) {
            // Without the folders below: these are tests.
            for file in workspace::entries(&folder)?
                .iter()
                .filter(|path| path.is_file())
            {
                copy(
                    file,
                    &target
                        .join(&name)
                        .join(file.file_name().unwrap_or_default()),
                )?;
            }
        }
        if is_module {
            modules.push(name);
        }
    }
    write(&target.join("dkms.conf"), &dkms_conf(&modules))
}

fn dkms_conf(modules: &[String]) -> String {
    // Other kernels are left alone: the sources refuse them.
    let series = KERNEL_SERIES.join("|").replace('.', "\\.");
    let machines: Vec<&str> = ARCHITECTURES.iter().map(|one| one.machine).collect();
    let machines = machines.join("|");
    let mut conf = format!(
        "PACKAGE_NAME=\"pagemill\"\nPACKAGE_VERSION=\"{VERSION}\"\nAUTOINSTALL=\"yes\"\nBUILD_EXCLUSIVE_KERNEL=\"^({series})\\.\"\nBUILD_EXCLUSIVE_ARCH=\"^({machines})$\"\n"
    );
    let each = |target: &str| -> String {
        let built = "${dkms_tree}/${PACKAGE_NAME}/${PACKAGE_VERSION}/build";
        let makes = modules
            .iter()
            .map(|name| format!("make -C ${{kernel_source_dir}} M={built}/{name} CONFIG_DEBUG_INFO_BTF_MODULES= {target}"));
        makes.collect::<Vec<_>>().join(" && ")
    };
    conf.push_str(&format!(
        "MAKE[0]=\"{}\"\nCLEAN=\"{}\"\n",
        each("modules"),
        each("clean")
    ));
    for (number, name) in modules.iter().enumerate() {
        conf.push_str(&format!(
            "BUILT_MODULE_NAME[{number}]=\"{name}\"\nBUILT_MODULE_LOCATION[{number}]=\"{name}\"\nDEST_MODULE_LOCATION[{number}]=\"/extra\"\n"
        ));
    }
    conf
}

fn add_scripts(tree: &Path) -> Result<()> {
    script(
        tree,
        "postinst",
        &format!(
            "[ \"$1\" = configure ] || exit 0\n/usr/lib/dkms/common.postinst pagemill {VERSION} /usr/share/pagemill-dkms \"\" \"$2\"\n"
        ),
    )?;
    let module = format!("-m pagemill -v {VERSION}");
    script(
        tree,
        "prerm",
        &format!(
            "if [ -n \"$(dkms status {module})\" ]; then\n    dkms remove {module} --all\nfi\n"
        ),
    )
}

/// Does what DKMS would do with the package that lies in `tree`: its command, with its variables, against `headers`.
pub fn try_build(folder: &Path, headers: &Path) -> Result<()> {
    let dkms_tree = folder.join("dkms");
    let build = dkms_tree.join("pagemill").join(VERSION).join("build");
    emptied(&build)?;
    let sources = folder.join("pagemill-dkms").join(source_folder());
    process::run(
        Command::new("cp")
            .arg("-r")
            .arg(sources.join("."))
            .arg(&build),
    )?;
    let mut make = Command::new("bash");
    make.args(["-ec", "source \"$0\"; eval \"${MAKE[0]}\" >&2; for i in \"${!BUILT_MODULE_NAME[@]}\"; do echo \"${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}.ko\"; done"]);
    make.arg(build.join("dkms.conf")).current_dir(&build);
    make.env("dkms_tree", &dkms_tree)
        .env("kernel_source_dir", headers);
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
    let told = process::output(&mut make).context("DKMS could not build the modules")?;
    let modules: Vec<&str> = told.lines().collect();
    match modules.iter().find(|module| !build.join(module).is_file()) {
        None if !modules.is_empty() => Ok(()),
        missing => bail!("dkms.conf promises {missing:?}, which was not built"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_that_the_modules_know_are_built_for() {
        let conf = dkms_conf(&["m".to_owned()]);
        assert!(conf.contains("BUILD_EXCLUSIVE_KERNEL=\"^(6\\.1|"));
        assert!(conf.contains("BUILD_EXCLUSIVE_ARCH=\"^(x86_64|aarch64)$\""));
    }
}
