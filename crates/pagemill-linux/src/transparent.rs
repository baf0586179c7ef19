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
mod tests {
    use super::*;

    #[test]
    fn the_kernel_marks_what_is_chosen() {
        for (text, expected) in [
            ("[always] madvise never\n", TransparentPages::Always),
            ("always [madvise] never\n", TransparentPages::Advised),
            ("always madvise [never]\n", TransparentPages::Never),
            ("", TransparentPages::Missing),
        ] {
            assert_eq!(TransparentPages::parse(text), expected);
        }
    }

    #[test]
    fn counters_are_found_by_their_whole_names() {
        let text = "thp_fault_alloc_x 1\nthp_fault_alloc 42\nother 3\n";
        assert_eq!(count(text, "thp_fault_alloc"), Some(42));
        assert_eq!(count(text, "thp_fault"), None);
    }

    #[test]
    fn a_program_runs_without_them() {
        let mut command = Command::new("grep");
        command.args(["-q", "THP_enabled:.*0", "/proc/self/status"]);
        without_transparent_pages(&mut command);
        if TransparentPages::read() != TransparentPages::Missing {
            assert!(command.status().expect("grep is there").success());
        }
    }
}
