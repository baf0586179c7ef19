//! A plugin of the emulator that watches the guest, and what it saw.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::files::{entries, make_folder};
use crate::protocol::Report;
use crate::{Workshop, process};

/// C sources in a folder of `kmod/`, built for the emulator on this machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// The folder below `kmod/`.
    pub source: PathBuf,
    /// Its arguments, such as `l2=1048576:16`; `out=FILE` is added.
    #[serde(default)]
    pub args: Vec<String>,
    /// What it keeps in `references.pmtrace`, if anything.
    pub trace: Option<Traced>,
    /// Whether the trace's miss curves are values, too: of each test that is called like what the guest reports to the plugin.
    #[serde(default)]
    pub curves: bool,
}

/// References to memory that has an owner.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traced {
    /// All of them, by programs.
    References,
    /// Lines that are not in a first cache: what reaches the shared one.
    FirstMisses,
}

/// Where a trace lies.
pub fn trace(work: &Path) -> PathBuf {
    work.join("references.pmtrace")
}

impl Plugin {
    /// Compiles it; returns the arguments of the emulator. What it sees is kept in `work`.
    pub(crate) fn provide(&self, workshop: &Workshop, work: &Path) -> Result<[String; 2]> {
        let program = self.build(workshop)?;
        let observed = work.join("observed.txt");
        // What an earlier boot left says nothing about this one.
        std::fs::write(&observed, "")
            .with_context(|| format!("cannot write {}", observed.display()))?;
        let mut text = format!("{},out={}", program.display(), observed.display());
        for argument in &self.args {
            text.push(',');
            text.push_str(argument);
        }
        if let Some(traced) = self.trace {
            let key = match traced {
                Traced::References => "trace",
                Traced::FirstMisses => "trace_misses",
            };
            text.push_str(&format!(",{key}={}", trace(work).display()));
        }
        Ok(["-plugin".to_owned(), text])
    }

    fn build(&self, workshop: &Workshop) -> Result<PathBuf> {
        let kmod = &workshop.sources;
        let folder = workshop.folder.join("plugins");
        make_folder(&folder)?;
        let program = folder.join(&self.source).with_extension("so");
        let sources = entries(&kmod.join(&self.source))?;
        let sources = sources
            .iter()
            .filter(|path| path.extension().is_some_and(|own| own == "c"));
        let mut compile = Command::new("gcc");
        compile
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
            .args(["-shared", "-fPIC", "-fvisibility=hidden", "-I"])
            .arg(kmod.join("uapi"))
            .arg("-o")
            .arg(&program)
            .args(sources);
        process::output(&mut compile)
            .with_context(|| format!("plugin {} does not build", self.source.display()))?;
        Ok(program)
    }

    /// Adds what it saw to the values of the guest.
    pub(crate) fn report(&self, work: &Path, report: &mut Report) -> Result<()> {
        let path = work.join("observed.txt");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("the plugin left no {}", path.display()))?;
        text.lines().for_each(|line| report.see_observed(line));
        Ok(())
    }
}
