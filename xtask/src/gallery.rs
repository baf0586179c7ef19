//! `cargo xtask gallery`: pages with the published figures beside ours, made of the rows kept in `validation/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{built, process, workspace};

/// Makes the gallery and prints where it is.
pub fn run(folder: Option<&Path>) -> Result<()> {
    let made = make(folder)?;
    eprintln!("{}", made.join("README.md").display());
    Ok(())
}

/// Makes the gallery in `folder`, or in `target/gallery`; answers where it is.
///
/// # Errors
/// A scenario with a page of its own has no rows in `validation/`.
pub fn make(folder: Option<&Path>) -> Result<PathBuf> {
    let folder = folder.map_or_else(
        || workspace::root().join("target/gallery"),
        Path::to_path_buf,
    );
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot find {}", folder.display()))?;
    built::provide()?;
    process::run(built::program("examples/gallery").arg(&folder))?;
    Ok(folder)
}

/// Makes the gallery, and finds what its pages name and do not have.
///
/// # Errors
/// It cannot be made of the rows, or a page or a figure that it links is missing.
pub fn check() -> Result<()> {
    let folder = make(None)?;
    let mut missing = Vec::new();
    let mut figures = 0;
    for page in workspace::entries(&folder)? {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text =
            fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        for target in targets(&text) {
            figures += usize::from(target.ends_with(".svg"));
            if !folder.join(target).is_file() {
                missing.push(format!("{} links {target}", page.display()));
            }
        }
    }
    if !missing.is_empty() {
        bail!("the gallery lacks files:\n{}", missing.join("\n"));
    }
    if figures == 0 {
        bail!("no page of {} has a figure", folder.display());
    }
    Ok(())
}

/// What the links and figures of a page lead to, those of the web left out.
fn targets(page: &str) -> impl Iterator<Item = &str> {
    let after = page.split("](").skip(1);
    after
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_figures_are_found() {
        let page = "[a](ppm.md), ![Time](ppm-1.svg)\n[web](https://a.org) (plain)";
        assert_eq!(targets(page).collect::<Vec<_>>(), ["ppm.md", "ppm-1.svg"]);
    }
}
