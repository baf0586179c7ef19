//! A minimal Debian of another release, in a folder: it has a compiler that this machine lacks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::archive::MIRROR;
use crate::files::make_folder;
use crate::process;

/// Mounts, where only this process sees them, what its programs need: `$1` at its own place, and what objtool reads of itself.
const ENTER: &str = r#"
set -e
shared=$1 root=$2
shift 2
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
mount -t proc proc "$root/proc"
exec chroot "$root" "$@"
"#;

/// A system that programs are run in by root.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
    /// A folder of this machine that its programs see too.
    shared: PathBuf,
}

impl System {
    /// A system of `release` with `make` and the package `headers`, set up below `folder` if it is not there. An interrupted
    /// call leaves none.
    ///
    /// # Errors
    /// `debootstrap` fails: the mirror is out of reach, or this is not root.
    pub(crate) fn provide(release: &str, headers: &str, folder: &Path) -> Result<Self> {
        let systems = folder.join("systems");
        let root = systems.join(headers);
        if !root.is_dir() {
            make_folder(&systems)?;
            let partial = systems.join("partial");
            if partial.exists() {
                std::fs::remove_dir_all(&partial)
                    .with_context(|| format!("cannot remove {}", partial.display()))?;
            }
            eprintln!("setting up a minimal system of {release} for {headers}");
            let mut bootstrap = Command::new("debootstrap");
            bootstrap
                .args(["--variant=minbase", &format!("--include=make,{headers}")])
                .arg(release)
                .arg(&partial)
                .arg(MIRROR);
            process::output(&mut bootstrap)?;
            std::fs::rename(&partial, &root)
                .with_context(|| format!("cannot make {}", root.display()))?;
        }
        Ok(Self {
            root,
            shared: folder.to_owned(),
        })
    }

    /// `program` of that system.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", ENTER, "sh"])
            .arg(&self.shared)
            .arg(&self.root)
            .arg(program);
        command
    }
}
