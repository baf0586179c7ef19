use std::fmt;
use std::fs;
use std::str::FromStr;

use rustix::process::{Pid, test_kill_process};

use crate::{OsError, Result};

/// One process among all that ever had its number: number, start time, and the namespace that both are counted in.
///
/// As text, `PID-START-NAMESPACE`, it can stand in file names: what is left behind names the process that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    process: u32,
    /// Clock ticks from boot to its start.
    started: u64,
    /// Inode of the PID namespace.
    namespace: u64,
}

impl Identity {
    /// This process.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn own() -> Result<Self> {
        let process = std::process::id();
        let failed = |error| OsError::new("read /proc/self: is /proc mounted?", error);
        let stat = fs::read_to_string("/proc/self/stat").map_err(failed)?;
        let started = start_and_state(&stat)
            .ok_or_else(|| failed(std::io::ErrorKind::InvalidData.into()))?
            .0;
        let namespace = own_namespace().map_err(failed)?;
        Ok(Self {
            process,
            started,
            namespace,
        })
    }

    /// Its number.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Whether its number means the same process here.
    pub fn is_of_own_namespace(&self) -> bool {
        own_namespace().is_ok_and(|own| own == self.namespace)
    }

    /// Whether it still runs. In doubt it does: what belongs to it is then left alone.
    pub fn is_alive(&self) -> bool {
        if !self.is_of_own_namespace() {
            return true;
        }
        let Some(number) = i32::try_from(self.process).ok().and_then(Pid::from_raw) else {
            return false;
        };
        if test_kill_process(number) == Err(rustix::io::Errno::SRCH) {
            return false;
        }
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process));
        match stat.ok().as_deref().and_then(start_and_state) {
            // A zombie has let go of its memory and files.
            Some((started, state)) => started == self.started && !matches!(state, 'Z' | 'X'),
            None => true,
        }
    }
}

/// Whether a process was stopped by a signal, other than by a debugger.
pub fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    matches!(
        stat.ok().as_deref().and_then(start_and_state),
        Some((_, 'T'))
    )
}

/// Field 22 and field 3 of `/proc/PID/stat`. The name before them may hold anything but ends with the last parenthesis.
fn start_and_state(stat: &str) -> Option<(u64, char)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.nth(18)?.parse().ok()?, state))
}

fn own_namespace() -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map(|file| file.ino())
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.process, self.started, self.namespace)
    }
}

/// Text that is no [`Identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not PID-START-NAMESPACE")]
pub struct NoIdentity;

impl FromStr for Identity {
    type Err = NoIdentity;

    fn from_str(text: &str) -> std::result::Result<Self, NoIdentity> {
        let mut numbers = text.split('-');
        let mut next = || numbers.next().and_then(|part| part.parse::<u64>().ok());
        let parsed = (next(), next(), next());
        let (Some(process), Some(started), Some(namespace)) = parsed else {
            return Err(NoIdentity);
        };
        let identity = Self {
            process: u32::try_from(process).map_err(|_| NoIdentity)?,
            started,
            namespace,
        };
        // Signs, leading zeros and further parts are not written by us.
        (identity.to_string() == text)
            .then_some(identity)
            .ok_or(NoIdentity)
    }
}

#[cfg(test)]
mod tests;
