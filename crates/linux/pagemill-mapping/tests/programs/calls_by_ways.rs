//! Runs `calls_by_ways.c` with a preload library and without: a part of the tests of each of them.

use std::path::Path;
use std::process::Command;

use pagemill_testkit::few_or_many;
use pagemill_testkit::memory_programs::build;

/// Calls by function, handle, plugin, instruction and ring, from threads, handlers and children, print the same plainly and by `preloaded`.
pub fn compare(folder: &Path, preloaded: impl Fn(&Path) -> Command) {
    let program = build(folder, "calls_by_ways.c", &["-ldl"]);
    let plugins = folder.join("plugins");
    std::fs::create_dir(&plugins).expect("a folder");
    let options = ["-shared", "-fPIC", "-DPLUGIN"];
    let plugin = build(&plugins, "calls_by_ways.c", &options);
    for seed in 0..few_or_many(16, 2_000) {
        let said = |mut command: Command| {
            command.args([&seed.to_string(), "100"]).arg(&plugin);
            let output = command.output().expect("it runs");
            assert!(output.status.success(), "seed {seed}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let expected = said(Command::new(&program));
        assert_eq!(said(preloaded(&program)), expected, "seed {seed}");
    }
}
