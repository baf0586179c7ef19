//! Booting the guest, listening to it, and ending it in time.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::architecture::Architecture;
use crate::kernel::Kernel;
use crate::process;
use crate::protocol::Report;
use crate::suite::Suite;

/// A warning or an oops ends the guest, and the end of the guest ends the emulator. `no_timer_check`: the kernel does not
/// panic when the timer's interrupts come late, as they do where the host is busy.
const KERNEL_LINE: &str = "rdinit=/init panic=-1 panic_on_warn=1 oops=panic \
                           quiet loglevel=5 random.trust_cpu=on mitigations=off no_timer_check";

const CONSOLE_LINES_SHOWN: usize = 40;

/// What QEMU calls itself.
///
/// # Errors
/// It is not there.
pub fn version(architecture: &Architecture) -> Result<String> {
    let text = process::output(Command::new(architecture.emulator).arg("--version"))?;
    Ok(text.lines().next().unwrap_or("unknown").to_owned())
}

/// Boots `archive` and listens until the guest powers off or its time is up.
/// `more` are arguments beside the suite's; `hear` gets what is to be shown.
pub fn boot(
    suite: &Suite,
    kernel: &Kernel,
    archive: &Path,
    work: &Path,
    more: &[String],
    hear: &mut dyn FnMut(&str),
) -> Result<Report> {
    let console = work.join("console.log");
    let mut command = command(suite, kernel, archive, &console);
    command.args(more);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", process::shown(&command)))?;
    let deadline = Instant::now() + Duration::from_secs(suite.machine.timeout_s);
    let mut report = Report::default();
    let in_time = listen(&lines_of(&mut child), deadline, &mut report, hear);
    report.emulator = end(child, in_time, suite.machine.timeout_s)?;
    let text = std::fs::read(&console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    report.emulator = report.emulator.or_else(|| complaint(&text));
    report.console = last_lines(&text);
    Ok(report)
}

fn command(suite: &Suite, kernel: &Kernel, archive: &Path, console: &Path) -> Command {
    let machine = &suite.machine;
    let accelerator = if machine.one_thread {
        "tcg,thread=single"
    } else {
        "tcg"
    };
    let architecture = kernel.architecture;
    let (report, report_port) = architecture.report;
    let mut words = (machine.under.iter().map(String::as_str)).chain([architecture.emulator]);
    let mut command = Command::new(words.next().unwrap_or(architecture.emulator));
    command
        .args(words)
        .args(architecture.board)
        .args(["-accel", accelerator, "-no-user-config", "-nodefaults"])
        .args(["-display", "none", "-no-reboot", "-cpu"])
        .arg(machine.cpu_of(architecture))
        .args(["-smp", &machine.cpus.to_string()])
        .args(["-m", &format!("{}M", machine.memory_mib)])
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(archive)
        .arg("-append")
        .arg(format!(
            "console={} REPORT={report_port} {KERNEL_LINE} {}",
            architecture.console, suite.kernel_line
        ))
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .args(report);
    if machine.icount {
        command.args(["-icount", "shift=0"]);
    }
    command.args(&machine.qemu);
    command
}

/// The guest's reports, as they come. The thread ends with the emulator.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = child.stdout.take().expect("stdout is piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout).split(b'\n');
        while let Some(Ok(line)) = lines.next() {
            if sender
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                break;
            }
        }
    });
    receiver
}

/// Whether the guest fell silent by itself before `deadline`.
fn listen(
    lines: &Receiver<String>,
    deadline: Instant,
    report: &mut Report,
    hear: &mut dyn FnMut(&str),
) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                if let Some(shown) = report.see(&line) {
                    hear(&shown);
                }
            }
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

/// Ends the emulator; returns what was wrong.
fn end(mut child: Child, in_time: bool, timeout_s: u64) -> Result<Option<String>> {
    if !in_time {
        child
            .kill()
            .context("cannot end an emulator that is too slow")?;
    }
    let status = child.wait().context("cannot wait for the emulator")?;
    Ok(if !in_time {
        Some(format!(
            "the guest was ended after {timeout_s} s: its time was up"
        ))
    } else if !status.success() {
        Some(format!("the emulator ended with {status}"))
    } else {
        None
    })
}

/// What the kernel found wrong and did not end for: lockdep reports and goes on. A lockup is that of a host with other work.
fn complaint(console: &str) -> Option<String> {
    const SIGNS: [&str; 4] = [
        "WARNING: ",
        "BUG: ",
        "INFO: possible ",
        "INFO: trying to register",
    ];
    let is_sign = |line: &&str| SIGNS.iter().any(|sign| line.contains(sign));
    let line = console
        .lines()
        .find(|line| is_sign(line) && !line.contains("lockup"))?;
    Some(format!("the kernel said: {}", line.trim()))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(CONSOLE_LINES_SHOWN);
    lines[from..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_lockdep_is_a_failure_and_a_late_timer_is_none() {
        let of_lockdep = "quiet\n WARNING: possible circular locking dependency detected\n";
        assert!(complaint(of_lockdep).is_some_and(|said| said.ends_with("dependency detected")));
        let of_time =
            "watchdog: BUG: soft lockup - CPU#0 stuck for 26s!\nwarning: not of the kernel\n";
        assert_eq!(complaint(of_time), None);
    }
}
