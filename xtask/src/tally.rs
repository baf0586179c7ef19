//! Counting what passed, failed and was skipped, over everything that is run.

use anyhow::Result;

/// Passed, failed, skipped; each skip with its reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Tally {
    /// Runs one check, counts it, and prints its result.
    pub fn check(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        eprintln!("checking {name}");
        match run() {
            Ok(()) => {
                println!("check {name} ... ok");
                self.passed += 1;
            }
            Err(error) => {
                println!("check {name} ... FAILED\n{error:#}\n");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// Counts something that cannot run here.
    pub fn skip(&mut self, name: &str, reason: &str) {
        println!("check {name} ... skipped");
        self.skipped.push(format!("{name}: {reason}"));
    }

    /// Counts what `other` counted.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// Counts a line of a test program's output, if it is one that counts.
    pub fn see_test_line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += counted(counts, "passed");
        } else if let Some(test) = line.strip_prefix("test ") {
            self.see_unpassed(test);
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

    /// Counts a line of pytest's summary (`-rA`), if it is one that counts.
    pub fn see_pytest_line(&mut self, line: &str) {
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

    /// Prints reasons of skips and names of failures, and the sum as the last line.
    pub fn print(&self) {
        println!();
        self.skipped
            .iter()
            .for_each(|reason| println!("skipped {reason}"));
        self.failed
            .iter()
            .for_each(|name| println!("failed  {name}"));
        println!("{}", self.sum());
    }

    fn sum(&self) -> String {
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped.len());
        format!("{passed} passed, {failed} failed, {skipped} skipped")
    }
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
