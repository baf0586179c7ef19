//! Scenarios of kind "cuda": what `pagemill cuda` hands to the process of a program is the point it was made from.

use std::path::Path;

use pagemill_scenario::document::SourceText;
use pagemill_scenario::{CudaPoint, CudaRun, PointSpec, load, load_text};
use pagemill_sim::{Detail, Translation};

const TEXT: &str = r#"
title = "A program \"quoted\""
kind = "cuda"
machine = "gtx480"
[program]
command = ["./a b", "--x=1"]
[transfer]
mode = "multi-range"
[sweep]
"machine.link.bandwidth" = ["16 GB/s", "32 GB/s"]
"transfer.unit" = ["1 KiB", "4 KiB"]
"#;

fn points(text: &str, sets: &[&str]) -> Result<Vec<CudaPoint>, String> {
    let source = SourceText::file(Path::new("scenarios/test.toml"), text.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = load_text(&source, &sets).map_err(|errors| errors.render(false))?;
    let specs = scenario.points.into_iter().map(|point| match point.spec {
        PointSpec::Cuda(point) => *point,
        other => panic!("{} is another kind", other.kind()),
    });
    Ok(specs.collect())
}

#[test]
fn every_point_stands_in_files_of_its_own() {
    let sets = [
        "machine.dram.capacity=2 GiB",
        "machine.tlb.ports={ value = 2, source = \"a test\" }",
    ];
    let points = points(TEXT, &sets).expect("it is sound");
    assert_eq!(points.len(), 4);
    for point in &points {
        let folder = tempfile::tempdir().expect("a folder");
        let machines = folder.path().join("machines");
        std::fs::create_dir(&machines).expect("a folder");
        std::fs::write(machines.join("gtx480.toml"), &point.machine_text).expect("a file");
        let file = folder.path().join("scenario.toml");
        let run = CudaRun {
            events_max: 7,
            ..CudaRun::default()
        };
        std::fs::write(&file, point.scenario_text(&run)).expect("a file");
        let scenario = load(file.to_str().expect("UTF-8"), &[]).expect("it is sound");
        let [one] = &scenario.points[..] else {
            panic!("{} points", scenario.points.len());
        };
        let PointSpec::Cuda(read) = &one.spec else {
            panic!("another kind");
        };
        assert_eq!(read.machine.spec, point.machine.spec);
        assert_eq!(read.machine.spec.memory_bytes, Some(2 << 30));
        let Translation::OneLevel { tlb, .. } = read.machine.spec.translation else {
            panic!("another depth");
        };
        assert_eq!(tlb.ports, 2);
        assert_eq!(read.transfer, point.transfer);
        assert_eq!(read.command, ["./a b", "--x=1"]);
        assert_eq!(read.limits.timeline_events, 7);
        assert_eq!(scenario.title, "A program \"quoted\"");
        let capacity = read
            .machine
            .settings
            .iter()
            .find(|setting| setting.key == "dram.capacity");
        assert_eq!(
            capacity.map(|setting| setting.source.as_str()),
            Some("--set")
        );
    }
}

#[test]
fn a_command_is_words() {
    for (command, part) in [
        ("[]", "a list of words"),
        ("\"./a\"", "a list of words"),
        ("[1]", "a list of words"),
    ] {
        let text = TEXT.replace("[\"./a b\", \"--x=1\"]", command);
        let error = points(&text, &[]).expect_err("it is wrong");
        assert!(error.contains(part), "{error}");
    }
}

/// The point of `text` with `sets`, as a run of it reads it.
fn read_back(point: &CudaPoint, run: &CudaRun) -> CudaPoint {
    let folder = tempfile::tempdir().expect("a folder");
    let machines = folder.path().join("machines");
    std::fs::create_dir(&machines).expect("a folder");
    std::fs::write(machines.join("gtx480.toml"), &point.machine_text).expect("a file");
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, point.scenario_text(run)).expect("a file");
    let mut scenario = load(file.to_str().expect("UTF-8"), &[]).expect("it is sound");
    match scenario.points.remove(0).spec {
        PointSpec::Cuda(point) => *point,
        other => panic!("{} is another kind", other.kind()),
    }
}

#[test]
fn a_run_has_the_memory_that_it_gets() {
    let points = points(TEXT, &["program.oversubscribe=1.5"]).expect("it is sound");
    assert_eq!(points[0].oversubscribe, Some(1.5));
    let run = CudaRun {
        functional: true,
        gpu_memory_bytes: Some(10 << 20),
        mode: Some("whole-page".to_owned()),
        ..CudaRun::default()
    };
    let read = read_back(&points[0], &run);
    assert_eq!(read.oversubscribe, None);
    assert!(read.functional);
    assert_eq!(read.transfer.mode, "whole-page");
    assert_eq!(read.machine.spec.program_bytes(), Some(10 << 20));
}

#[test]
fn a_factor_is_a_number_above_zero_of_a_mode_that_migrates() {
    for (set, part) in [
        ("program.oversubscribe=0", "a number above 0"),
        ("program.oversubscribe=-1.5", "a number above 0"),
        ("program.oversubscribe=nan", "a number above 0"),
        ("program.oversubscribe=\"2\"", "a number above 0"),
        ("program.gpu_memory=0 B", "a size above 0"),
        ("program.gpu_memory=4 KiB", "2 MiB"),
    ] {
        let error = points(TEXT, &[set]).expect_err("it is wrong");
        assert!(error.contains(part), "{set}: {error}");
    }
    let factor = "program.oversubscribe=1.5";
    for (set, part) in [
        ("program.gpu_memory=4 MiB", "both say"),
        ("program.functional=true", "needs simulated time"),
        ("transfer.mode=ideal-overlap", "moves no pages"),
    ] {
        let error = points(TEXT, &[factor, set]).expect_err("it is wrong");
        assert!(error.contains(part), "{set}: {error}");
    }
}

#[test]
fn detail_is_read_and_refused_without_time() {
    let text = TEXT.replacen("machine =", "detail = \"sampled\"\nmachine =", 1);
    let point = &points(&text, &[]).expect("it is sound")[0];
    assert_eq!(point.detail, Detail::Sampled);
    let shadow = CudaRun {
        functional: true,
        ..CudaRun::default()
    };
    let text_of_shadow = point.scenario_text(&shadow);
    assert!(
        text_of_shadow.contains("\"detail\" = \"full\""),
        "{text_of_shadow}"
    );
    let plain = &points(TEXT, &[]).expect("it is sound")[0];
    assert_eq!(plain.detail, Detail::Full);
    for (set, part) in [
        ("program.functional=true", "program.functional"),
        ("program.check=true", "program.check"),
        ("detail=half", "pages"),
    ] {
        let error = points(&text, &[set]).expect_err("it is refused");
        assert!(error.contains(part), "{set}: {error}");
    }
}
