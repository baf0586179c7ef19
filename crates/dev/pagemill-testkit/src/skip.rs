use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that skips are appended to; `cargo xtask test` sets it and counts them.
const SKIP_LOG: &str = "PAGEMILL_SKIP_LOG";

/// Says that the calling test cannot run on this machine, and why. The test returns right after.
///
/// ```no_run
/// # fn has_gpu() -> bool { false }
/// fn kernels_run_on_the_gpu() {
///     if !has_gpu() {
///         return pagemill_testkit::skip("there is no CUDA GPU");
///     }
///     // ...
/// }
/// # kernels_run_on_the_gpu();
/// ```
///
/// # Panics
/// If the skip cannot be recorded: an uncounted skip would pass for a pass.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped {line}");
    let Some(path) = std::env::var_os(SKIP_LOG) else {
        return;
    };
    // One write of one line, so that test programs can share the file.
    let log = OpenOptions::new().append(true).create(true).open(&path);
    let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot record a skip in {}: {error}", path.display()));
}
