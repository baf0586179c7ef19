//! Counting what passed, failed and was skipped, over everything that is run.

use std::cmp::Ordering;

use anyhow::Result;

/// Lines that the failures of a program may quote: enough for a panic and its backtrace, too few to hide the other failures.
const QUOTED_LINES_MAX: usize = 120;

/// Passed, failed, skipped; each skip with its reason, and what the failures printed.
///
/// Progress goes to stderr, results to stdout: who keeps stdout alone has all that matters in a few lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    quoted: Vec<String>,
    /// Whether the lines that are seen now belong to a failure.
    quotes: bool,
    quoted_of_program: usize,
}

impl Tally {
    /// Runs one check, counts it, and prints its result.
    pub fn check(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        eprintln!("checking {name}");
        match run() {
            Ok(()) => {
                eprintln!("check {name} ... ok");
                self.passed += 1;
            }
            Err(error) => {
                eprintln!("check {name} ... FAILED\n{error:#}\n");
                self.failed.push(name.to_owned());
                self.quoted.push(format!("---- {name} ----\n{error:#}\n"));
            }
        }
    }

    /// Counts something that cannot run here.
    pub fn skip(&mut self, name: &str, reason: &str) {
        eprintln!("check {name} ... skipped");
        self.skipped.push(format!("{name}: {reason}"));
    }

    /// Counts what `other` counted.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
        self.quoted.extend(other.quoted);
    }

    /// Counts a line of a test program's output, if it is one that counts; keeps it if a failure printed it.
    pub fn see_test_line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += counted(counts, "passed");
            self.quotes = false;
        } else if let Some(test) = line.strip_prefix("test ") {
            self.see_unpassed(test);
        } else if let Some(program) = died(line) {
            self.failed.push(format!("{program} to its end"));
            self.quoted.push(line.trim_start().to_owned());
        } else if line == "failures:" {
            self.begin_quote();
        }
        self.quote(line);
    }

    fn begin_quote(&mut self) {
        self.quotes = true;
        self.quoted_of_program = 0;
    }

    fn quote(&mut self, line: &str) {
        if !self.quotes {
            return;
        }
        self.quoted_of_program += 1;
        match self.quoted_of_program.cmp(&QUOTED_LINES_MAX) {
            Ordering::Less => self.quoted.push(line.to_owned()),
            Ordering::Equal => (self.quoted).push("... more of it is on standard error".to_owned()),
            Ordering::Greater => {}
        }
    }

    fn see_unpassed(&mut self, line: &str) {
        if let Some(test) = line.strip_suffix(" ... FAILED") {
            self.failed.push(test.to_owned());
        } else if let Some((test, rest)) = line.split_once(" ... ignored") {
            let reason = rest.trim_start_matches([',', ' ']);
            let reason = if reason.is_empty() { "ignored" } else { reason };
            self.skipped.push(format!("{test}: {reason}"));
        }
    }

    /// Counts a line of pytest's summary (`-rA`), if it is one that counts; keeps it if a failure printed it.
    pub fn see_pytest_line(&mut self, line: &str) {
        let heading = line
            .starts_with("==")
            .then(|| line.trim_matches(['=', ' ']));
        match heading {
            Some("FAILURES" | "ERRORS") => self.begin_quote(),
            Some(_) => self.quotes = false,
            None => self.quote(line),
        }
        if line.starts_with("PASSED ") {
            self.passed += 1;
        } else if let Some(test) = line
            .strip_prefix("FAILED ")
            .or_else(|| line.strip_prefix("ERROR "))
        {
            self.failed.push(test.to_owned());
        } else if let Some(test) = line.strip_prefix("SKIPPED ") {
            self.skipped.push(test.to_owned());
        }
    }

    /// Turns tests that returned early into skips; each line of `log` is `name: reason`.
    pub fn see_skip_log(&mut self, log: &str) {
        for line in log.lines() {
            self.passed = self.passed.saturating_sub(1);
            self.skipped.push(line.to_owned());
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nothing failed.
    pub fn all_passed(&self) -> bool {
        self.failed.is_empty()
    }

    /// How many passed.
    pub fn passes(&self) -> usize {
        self.passed
    }

    /// How many failed.
    pub fn failures(&self) -> usize {
        self.failed.len()
    }

    /// Prints what failures said, reasons of skips and names of failures, and the sum as the last line.
    pub fn print(&self) {
        println!();
        self.quoted.iter().for_each(|line| println!("{line}"));
        self.skipped
            .iter()
            .for_each(|reason| println!("skipped {reason}"));
        self.failed
            .iter()
            .for_each(|name| println!("failed  {name}"));
        println!("{}", self.sum());
    }

    /// All counts in words.
    pub fn sum(&self) -> String {
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped.len());
        format!("{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The program of a line by which cargo says that a signal ended it: such a program names no test.
fn died(line: &str) -> Option<&str> {
    let rest = line
        .trim_start()
        .strip_prefix("process didn't exit successfully: `")?;
    let (program, how) = rest.rsplit_once("` ")?;
    let program = program.split(' ').next().unwrap_or(program);
    let name = program.rsplit('/').next().unwrap_or(program);
    how.starts_with("(signal").then_some(name)
}

/// The number before `what` in a line like `ok. 6 passed; 0 failed; 1 ignored`.
fn counted(line: &str, what: &str) -> usize {
    let words: Vec<&str> = line
        .split([' ', ';'])
        .filter(|word| !word.is_empty())
        .collect();
    let number = words
        .windows(2)
        .find(|pair| pair[1] == what)
        .map(|pair| pair[0]);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_output_is_counted() {
        let output = "\nrunning 4 tests\n\
            test fits ... ok\n\
            test page - should panic ... ok\n\
            test breaks ... FAILED\n\
            test slow ... ignored, takes an hour\n\
            test plain ... ignored\n\
            test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.see_test_line(line));
        assert_eq!(tally.sum(), "12 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failed, ["breaks"]);
        assert_eq!(tally.skipped, ["slow: takes an hour", "plain: ignored"]);
        assert!(!tally.all_passed());
    }

    #[test]
    fn what_failures_said_is_kept() {
        let output = "test breaks ... FAILED\n\
            failures:\n\
            ---- breaks stdout ----\n\
            assertion failed: 1 == 2\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored\n\
            running 1 test\n";
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.see_test_line(line));
        assert_eq!(
            tally.quoted,
            [
                "failures:",
                "---- breaks stdout ----",
                "assertion failed: 1 == 2"
            ]
        );
        let pytest = "== FAILURES ==\n__ test_a __\nE  assert 1 == 2\n== short test summary info ==\nFAILED test_a - assert 1 == 2\n== 1 failed ==\n";
        let mut tally = Tally::default();
        pytest.lines().for_each(|line| tally.see_pytest_line(line));
        assert_eq!(tally.quoted, ["__ test_a __", "E  assert 1 == 2"]);
        assert_eq!(tally.failed, ["test_a - assert 1 == 2"]);
    }

    #[test]
    fn a_long_failure_hides_no_other() {
        let mut tally = Tally::default();
        for _ in 0..2 {
            tally.see_test_line("failures:");
            (0..1000).for_each(|_| tally.see_test_line("so it went"));
            tally.see_test_line("test result: FAILED. 0 passed; 1 failed");
        }
        assert_eq!(tally.quoted.len(), 2 * QUOTED_LINES_MAX);
    }

    #[test]
    fn a_program_ended_by_a_signal_is_a_failure() {
        let mut tally = Tally::default();
        tally.see_test_line(
            "  process didn't exit successfully: `/t/debug/deps/uvm-0a1b --quiet` (signal: 11, SIGSEGV: invalid memory reference)",
        );
        tally.see_test_line(
            "  process didn't exit successfully: `/t/debug/deps/uvm-0a1b` (exit status: 101)",
        );
        assert_eq!(tally.failed, ["uvm-0a1b to its end"]);
    }

    #[test]
    fn a_logged_skip_is_no_pass() {
        let mut tally = Tally::default();
        tally.see_test_line("test result: ok. 3 passed; 0 failed; 0 ignored");
        tally.see_skip_log("wide_registers: this CPU has no AVX-512\n");
        assert_eq!(tally.sum(), "2 passed, 0 failed, 1 skipped");
        assert!(tally.all_passed());
    }

    #[test]
    fn sums_add_up() {
        let mut all = Tally::default();
        all.check("one", || Ok(()));
        let mut more = Tally::default();
        more.check("two", || Err(anyhow::anyhow!("no")));
        all.add(more);
        assert_eq!(all.sum(), "1 passed, 1 failed, 0 skipped");
    }
}
