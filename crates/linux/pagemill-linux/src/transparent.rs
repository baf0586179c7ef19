//! Transparent huge pages.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// For which memory the kernel uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransparentPages {
    /// For all.
    Always,
    /// Where a program asks for them.
    Advised,
    /// For none.
    Never,
    /// This kernel has none.
    Missing,
}

const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";

impl TransparentPages {
    /// As the machine is set.
    pub fn read() -> Self {
        let text = fs::read_to_string(Path::new(FOLDER).join("enabled"));
        text.map_or(Self::Missing, |text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let chosen = text.split_whitespace().find(|word| word.starts_with('['));
        match chosen {
            Some("[always]") => Self::Always,
            Some("[madvise]") => Self::Advised,
            Some("[never]") => Self::Never,
            _ => Self::Missing,
        }
    }
}

/// Page faults of the whole machine since boot that got a huge page; `None` where the kernel does not count them.
pub fn huge_faults() -> Option<u64> {
    count(&fs::read_to_string("/proc/vmstat").ok()?, "thp_fault_alloc")
}

fn count(text: &str, name: &str) -> Option<u64> {
    let line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(line)
}

/// Forbids transparent huge pages to the program of `command` and to all that it starts.
pub fn without_transparent_pages(command: &mut Command) {
    let forbid = || {
        // SAFETY: changes an attribute of the process that is about to run the program.
        match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec it makes one system call, and allocates and locks nothing.
    unsafe { command.pre_exec(forbid) };
}

#[cfg(test)]
mod tests;
