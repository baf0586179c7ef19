use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What a program used, with those of its children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// From start to end.
    pub wall_ns: u64,
    /// CPU time of the program itself.
    pub user_ns: u64,
    /// CPU time of the kernel on its behalf.
    pub system_ns: u64,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Most memory that one of the processes had at once, without huge pages of the kernel's stock.
    pub peak_bytes: u64,
}

impl Usage {
    /// Waits for a child of this process. The elapsed time is left at 0.
    ///
    /// # Errors
    /// There is no such child.
    pub(crate) fn of_ended(child: u32) -> io::Result<(ExitStatus, Self)> {
        let child = i32::try_from(child).map_err(|_| io::ErrorKind::InvalidInput)?;
        let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::uninit());
        loop {
            // SAFETY: the kernel fills both, or says that it did not.
            let waited = unsafe { libc::wait4(child, &raw mut status, 0, usage.as_mut_ptr()) };
            if waited == child {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // SAFETY: the kernel has filled it.
        let usage = unsafe { usage.assume_init() };
        let found = Self {
            wall_ns: 0,
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            peak_bytes: usage.ru_maxrss as u64 * 1024,
        };
        Ok((ExitStatus::from_raw(status), found))
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crate::children::{AtKill, measure};

    #[test]
    fn a_program_that_touches_memory_has_a_fault_a_page_at_least() {
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            "head -c 32M /dev/zero | tail -c 16M | wc -c >/dev/null; exit 3",
        ]);
        let (status, usage) = measure(&mut shell, AtKill::Kill).expect("there is a shell");
        assert_eq!(status.code(), Some(3));
        assert!(usage.minor_faults > 100, "{usage:?}");
        assert!(usage.peak_bytes > 1 << 20, "{usage:?}");
        assert!(usage.wall_ns > 0, "{usage:?}");
    }
}
