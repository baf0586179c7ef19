//! Formatters and linters of the languages beside Rust: ruff for Python, clang-format for C.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::venv::Environment;
use crate::{process, tidy, workspace};

const ENVIRONMENT: Environment = Environment {
    name: "style",
    what: "what checks the style of Python and C",
    file: "style-requirements.txt",
    requirements: include_str!("../style-requirements.txt"),
};

/// Checks every Python file by the rules of `ruff.toml`.
pub fn check_python() -> Result<()> {
    lint_python(workspace::root())
}

fn lint_python(folder: &Path) -> Result<()> {
    let mut ruff = Command::new(ENVIRONMENT.provide()?.join("bin/ruff"));
    ruff.args(["check", "--quiet", "--no-cache", "--output-format=concise"])
        .arg("--config")
        .arg(workspace::root().join("ruff.toml"))
        .arg(folder);
    process::run(&mut ruff)
}

/// Compares all C and C++ with what clang-format makes of it: that of the kernel modules by `kmod/.clang-format`, all else by
/// `.clang-format`.
pub fn check_c() -> Result<()> {
    let root = workspace::root();
    let mut files = tidy::text_files(root)?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|own| own == "c" || own == "h" || own == "cpp")
    });
    let modules = root.join("kmod");
    let (kernel, user): (Vec<PathBuf>, Vec<PathBuf>) = files
        .into_iter()
        .partition(|path| path.starts_with(&modules));
    compare_c(&modules.join(".clang-format"), &kernel)?;
    compare_c(&root.join(".clang-format"), &user)
}

fn compare_c(style: &Path, files: &[PathBuf]) -> Result<()> {
    let mut format = Command::new(ENVIRONMENT.provide()?.join("bin/clang-format"));
    format
        .args(["--dry-run", "--Werror", "--ferror-limit=1"])
        .arg(format!("--style=file:{}", style.display()))
        .args(files);
    process::run(&mut format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    // One test: both make the environment where it is missing.
    #[test]
    fn breaches_of_style_are_found() {
        let python = |text| lint_python(planted("a.py", text).0.path());
        python("import os\n\nprint(os.name)\n").unwrap();
        python("import os\n").unwrap_err();
        let c = |style, text| {
            let (_folder, path) = planted("a.c", text);
            compare_c(&workspace::root().join(style), &[path])
        };
        let (kernel, user) = ("kmod/.clang-format", ".clang-format");
        c(kernel, "int f(int a)\n{\n\treturn a;\n}\n").unwrap();
        c(kernel, "int f(int a) { return a; }\n").unwrap_err();
        c(user, "int f(int a) { return a; }\n").unwrap();
        c(user, "int f(int a)\n{\n\treturn a;\n}\n").unwrap_err();
    }
}
