//! What one boot of the virtual machine consists of: `kmod/suites/NAME.toml`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pagemill_linux::series::{KERNEL_SERIES, is_of_series};
use serde::Deserialize;

use crate::architecture::{Architecture, architecture_names};
use crate::bundle::Bundle;
use crate::checked::CHECKS;
use crate::claim::Claim;
use crate::files::entries;
use crate::plugin::Plugin;

/// Modules, programs, machine and tests of one boot.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// Whether it is booted only if its whole name is given: it takes long.
    #[serde(default)]
    pub on_demand: bool,
    /// Folders of `kmod/` that hold a module; built, and put into the guest as `/modules/NAME.ko`.
    #[serde(default)]
    pub modules: Vec<String>,
    /// C sources and shell scripts below `kmod/`; each becomes a static program, or a script, `/bin/STEM` in the guest.
    #[serde(default)]
    pub programs: Vec<PathBuf>,
    /// C sources below `kmod/` whose programs use shared libraries, so that others can be preloaded.
    #[serde(default)]
    pub dynamic: Vec<PathBuf>,
    /// What comes from this machine.
    #[serde(default)]
    pub bundle: Bundle,
    /// More words of the kernel's command line.
    #[serde(default)]
    pub kernel_line: String,
    /// The kernel series that the suite is for, if it is not for all that its modules are written for.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// Why it is not booted on kernels that check themselves, if it is not.
    pub unchecked: Option<String>,
    /// The architectures that the suite is for, by Debian's names, if it is not for all.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// What is emulated.
    #[serde(default)]
    pub machine: Machine,
    /// Watches the guest.
    pub plugin: Option<Plugin>,
    /// Shell commands before the first test; if one fails, no test runs.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Where `--keep` puts the measured values, below `validation/`.
    pub keep: Option<PathBuf>,
    /// Run in this order.
    pub test: Vec<Test>,
    /// Of the values, when all tests have run.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// What QEMU emulates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// QEMU's name of the processor, if it is not the architecture's usual one.
    pub cpu: Option<String>,
    /// How many of them.
    pub cpus: u32,
    /// One thread of the host executes all processors in turn: needed where the guest patches code that another one executes.
    pub one_thread: bool,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Time is the number of instructions executed: one instruction, one nanosecond.
    pub icount: bool,
    /// The boot is ended after this many seconds of the host's time.
    pub timeout_s: u64,
    /// More arguments of QEMU, such as `-plugin`.
    pub qemu: Vec<String>,
    /// A command and its arguments that QEMU runs under, if any.
    pub under: Vec<String>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            cpu: None,
            cpus: 1,
            one_thread: false,
            memory_mib: 512,
            icount: false,
            timeout_s: 300,
            qemu: Vec::new(),
            under: Vec::new(),
        }
    }
}

impl Machine {
    /// QEMU's name of the processor.
    pub(crate) fn cpu_of<'a>(&'a self, architecture: &'a Architecture) -> &'a str {
        self.cpu.as_deref().unwrap_or(architecture.cpu)
    }
}

/// A shell command that passes with exit code 0 and skips with 77.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// One word.
    pub name: String,
    /// The command.
    pub run: String,
}

impl Suite {
    /// Every suite of a folder, by name.
    ///
    /// # Errors
    /// A file is no suite.
    pub fn load_all(folder: &Path) -> Result<Vec<Self>> {
        let files = entries(folder)?;
        let suites = files
            .iter()
            .filter(|path| path.extension().is_some_and(|own| own == "toml"));
        suites.map(|path| Self::load(path)).collect()
    }

    fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text).with_context(|| format!("{shown} is no suite"))
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut suite: Self = toml::from_str(text)?;
        name.clone_into(&mut suite.name);
        if suite.kernels.is_empty() && !suite.modules.is_empty() {
            suite.kernels = KERNEL_SERIES.map(str::to_owned).to_vec();
        }
        suite.check()?;
        Ok(suite)
    }

    fn check(&self) -> Result<()> {
        for (index, test) in self.test.iter().enumerate() {
            let name = &test.name;
            if name.is_empty() || name.contains(char::is_whitespace) {
                bail!("test name {name:?} is not one word");
            }
            if self.test[..index].iter().any(|other| other.name == *name) {
                bail!("two tests are called {name}");
            }
            if test.run.contains('\n') {
                bail!("test {name}: `run` is more than one line");
            }
        }
        for claim in &self.claim {
            if claim.name.is_empty() || claim.name.contains(char::is_whitespace) {
                bail!("claim name {:?} is not one word", claim.name);
            }
            if claim.at_least > claim.at_most {
                bail!(
                    "claim {}: nothing is both so large and so small",
                    claim.name
                );
            }
        }
        let known = architecture_names();
        if let Some(name) = self.architectures.iter().find(|name| !known.contains(name)) {
            bail!("architecture {name:?} is none of {}", known.join(", "));
        }
        if self.test.is_empty() {
            bail!("it has no [[test]]");
        }
        Ok(())
    }

    /// Whether `filters` select this one. No filter selects all that are quick.
    pub fn is_meant(&self, filters: &[String]) -> bool {
        let has_name = |part: &String| self.name == *part;
        let is_like = |part: &String| self.name.contains(part.as_str());
        if self.on_demand {
            filters.iter().any(has_name)
        } else {
            filters.is_empty() || filters.iter().any(is_like)
        }
    }

    /// `test` as the tally names it.
    pub fn title(&self, test: &str) -> String {
        format!("vm {}: {test}", self.name)
    }

    /// This suite under a name of its own, for the kernel of another release of Debian, or of another architecture.
    #[must_use]
    pub fn on(mut self, release: Option<&str>, architecture: &Architecture) -> Self {
        let other = (*architecture != *Architecture::own()).then_some(architecture.name);
        for part in [release, other].into_iter().flatten() {
            self.name = format!("{}-{part}", self.name);
        }
        if release.is_some_and(|name| CHECKS.contains(&name)) {
            // Shadow memory, and several instructions for each access.
            self.machine.memory_mib += self.machine.memory_mib / 2;
            self.machine.timeout_s *= 4;
            self.claim.clear();
        }
        self
    }

    /// Whether one thread of the host executes its guest, whatever else the host does.
    pub fn is_one_thread(&self) -> bool {
        self.machine.cpus == 1 || self.machine.one_thread
    }

    /// Whether it says something on a kernel that checks itself: it has modules, and does not count instructions.
    pub fn is_checkable(&self) -> bool {
        let counts = self.machine.icount || self.plugin.is_some();
        !self.modules.is_empty() && !counts && self.unchecked.is_none()
    }

    /// Whether it is for `architecture`.
    pub fn is_for(&self, architecture: &Architecture) -> bool {
        let mut names = self.architectures.iter();
        self.architectures.is_empty() || names.any(|name| name == architecture.name)
    }

    /// Why not on the kernel `release`, if so.
    pub fn cannot_run_on(&self, release: &str) -> Option<String> {
        let mut series = self.kernels.iter();
        let may_run = self.kernels.is_empty() || series.any(|series| is_of_series(release, series));
        (!may_run).then(|| {
            let series = self.kernels.join(" and ");
            format!("its modules are for Linux {series}, this Debian has {release}")
        })
    }

    /// The emulated machine, for the head of a table.
    pub fn machine_in_words(&self, architecture: &Architecture) -> String {
        let cpu = self.machine.cpu_of(architecture);
        let Machine {
            cpus,
            one_thread,
            memory_mib,
            icount,
            ..
        } = &self.machine;
        let time = if *icount {
            "icount shift=0"
        } else {
            "free running"
        };
        let threads = if *one_thread { " in one thread" } else { "" };
        format!("TCG; cpu {cpu}; {cpus} CPUs{threads}; {memory_mib} MiB; {time}")
    }
}

#[cfg(test)]
mod tests;
