//! What sound scenarios become.

#[path = "../../pagemill-sim/tests/common/gtx480.rs"]
mod gtx480;

use gtx480::gtx480;
#[path = "../../../pages/pagemill-pages/tests/common/a100.rs"]
mod a100;

use a100::a100_pcie4_x86;
use std::path::Path;

use pagemill_scenario::document::SourceText;
use pagemill_scenario::{
    MACHINES, ParameterValue, Point, PointSpec, SCENARIOS, Scenario, load, load_text,
};
use pagemill_sim::{HostCopies, Translation, Validity};
use proptest::prelude::*;

const SOUND: &str = r#"
title = "A test"
kind = "gpu"
machine = "gtx480"
seed = 7
[workload]
name = "vector-add"
elements = 1024
[transfer]
mode = "multi-range"
page_size = "4 KiB"
"#;

fn load_with(text: &str, sets: &[&str]) -> Scenario {
    let source = SourceText::file(Path::new("scenarios/test.toml"), text.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load_text(&source, &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

fn gpu(point: &Point) -> &pagemill_scenario::GpuPoint {
    match &point.spec {
        PointSpec::Gpu(gpu) => gpu,
        other => panic!("{point} is of kind {}", other.kind()),
    }
}

fn shown(scenario: &Scenario) -> Vec<String> {
    scenario.points.iter().map(Point::to_string).collect()
}

#[test]
fn the_machine_file_and_the_simulator_agree_on_the_gtx480() {
    let scenario = load_with(SOUND, &["transfer.page_size=2 MiB"]);
    assert_eq!(gpu(&scenario.points[0]).machine.spec, gtx480());
}

#[test]
fn the_machine_file_and_the_simulator_agree_on_the_a100() {
    let scenario = load_with(
        "title = \"a\"\nkind = \"residency\"\nmachine = \"a100-pcie4-x86\"\nseed = 0\n[access]\npattern = \"grid-stride\"\n\
         [residency]\nstrategy = \"on-demand\"\nfactor = 1.5\n",
        &[],
    );
    let PointSpec::Residency(point) = &scenario.points[0].spec else {
        panic!("{}", scenario.points[0]);
    };
    assert_eq!(point.machine.spec, a100_pcie4_x86());
}

fn text_of(machine: &str) -> &'static str {
    let found = MACHINES.iter().find(|entry| entry.name == machine);
    found.expect("it is built in").text
}

/// The sources that a machine file gives, in its order.
fn sources(machine: &str) -> Vec<&'static str> {
    let after = text_of(machine).split("source = \"").skip(1);
    after.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn sources_of_the_measured_h100_begin_with_their_kind() {
    let sources = sources("h100-sxm");
    let of = |kind: &str| -> Vec<&str> {
        let all = sources.iter().copied();
        all.filter(|source| {
            let rest = source.strip_prefix(kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
        })
        .collect()
    };
    let programs: Vec<&str> = of("set on")
        .iter()
        .filter_map(|source| source.split(": ").next())
        .collect();
    let rows_of_lanes =
        "set on encoder_forward_kernel1, layernorm_forward_kernel1, fused_residual_forward2";
    assert_eq!(programs, ["set on GEMM, ATAX, GESUMMV", rows_of_lanes]);
    let counts = ["probe", "document", "estimate"].map(|kind| of(kind).len());
    assert_eq!(counts, [45, 35, 49]);
    assert_eq!(counts.iter().sum::<usize>() + programs.len(), sources.len());
}

#[test]
fn no_source_of_a_machine_is_unpublished() {
    for machine in MACHINES {
        let vague = sources(machine.name)
            .into_iter()
            .find(|source| source.contains("unpublished"));
        assert_eq!(vague, None, "{}", machine.name);
    }
}

#[test]
fn every_value_of_a_machine_has_a_source() {
    let scenario = load_with(SOUND, &["machine.link.bandwidth=32 GB/s"]);
    let settings = &gpu(&scenario.points[0]).machine.settings;
    assert!(settings.len() > 60, "{}", settings.len());
    assert!(settings.iter().all(|setting| !setting.source.is_empty()));
    let link = settings
        .iter()
        .find(|setting| setting.key == "link.bandwidth")
        .expect("a link");
    assert_eq!(
        (link.value.as_str(), link.source.as_str()),
        ("32 GB/s", "--set")
    );
}

#[test]
fn every_file_of_the_folders_is_built_in_and_loads() {
    for (folder, built_in) in [("machines", MACHINES), ("scenarios", SCENARIOS)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../..")
            .join(folder);
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| name.ends_with(".toml"))
            .collect();
        files.sort();
        let names: Vec<String> = built_in
            .iter()
            .map(|file| format!("{}.toml", file.name))
            .collect();
        assert_eq!(names, files);
    }
    for scenario in SCENARIOS {
        let loaded =
            load(scenario.name, &[]).unwrap_or_else(|errors| panic!("{}: {errors}", scenario.name));
        assert_eq!(loaded.name, scenario.name);
        assert!(!loaded.points.is_empty());
    }
}

#[test]
fn points_are_in_order_and_say_what_they_are() {
    let text =
        format!("{SOUND}\n[sweep]\n\"transfer.unit\" = [\"128 B\", \"1 KiB\"]\nseed = [1, 2]\n");
    let scenario = load_with(&text, &[]);
    assert_eq!(
        shown(&scenario),
        [
            "point 1 (transfer.unit = 128 B, seed = 1)",
            "point 2 (transfer.unit = 128 B, seed = 2)",
            "point 3 (transfer.unit = 1 KiB, seed = 1)",
            "point 4 (transfer.unit = 1 KiB, seed = 2)",
        ]
    );
    let unit = &scenario.points[2].parameters[0];
    assert_eq!(
        (unit.column.as_str(), &unit.value),
        ("transfer.unit_bytes", &ParameterValue::Unsigned(1024))
    );
}

#[test]
fn a_swept_table_keeps_the_keys_it_does_not_name() {
    let text = format!(
        "{SOUND}\n[sweep]\nworkload = [{{ elements = 1 }}, {{ elements = 2, read_results = true }}, {{ name = \"bfs\", nodes = 8 }}]\n"
    );
    let scenario = load_with(&text, &["workload.seed=3"]);
    let workloads: Vec<_> = scenario
        .points
        .iter()
        .map(|point| &gpu(point).workload)
        .collect();
    let value = |index: usize, name: &str| {
        let (_, value) = workloads[index]
            .values
            .iter()
            .find(|(parameter, _)| parameter.name == name)
            .expect("a value");
        *value
    };
    assert_eq!(
        workloads
            .iter()
            .map(|workload| workload.name)
            .collect::<Vec<_>>(),
        ["vector-add", "vector-add", "bfs"]
    );
    assert_eq!(
        (
            value(0, "elements"),
            value(1, "elements"),
            value(2, "nodes")
        ),
        (1, 2, 8)
    );
    assert_eq!((value(0, "read_results"), value(1, "read_results")), (0, 1));
    assert_eq!((value(0, "seed"), value(2, "seed")), (3, 3));
}

#[test]
fn an_override_of_a_key_that_one_swept_table_has_changes_that_one() {
    let text = format!(
        "{SOUND}\n[sweep]\nworkload = [{{ elements = 1 }}, {{ name = \"bfs\", nodes = 8 }}]\n"
    );
    let sizes = |set: &str| {
        let scenario = load_with(&text, &[set]);
        let of = |point| {
            let values = gpu(point).workload.values.iter();
            let mut sizes = values.filter(|(it, _)| ["elements", "nodes"].contains(&it.name));
            sizes.next().expect("a size").1
        };
        scenario.points.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(sizes("workload.elements=4096"), [4096, 8]);
    assert_eq!(sizes("workload.nodes=16"), [1, 16]);
}

#[test]
fn the_seed_of_the_scenario_is_that_of_the_program() {
    let scenario = load_with(SOUND, &[]);
    let seed = gpu(&scenario.points[0])
        .workload
        .values
        .iter()
        .find(|(parameter, _)| parameter.name == "seed");
    assert_eq!(seed.expect("a seed").1, 7);
}

#[test]
fn an_override_is_stronger_than_a_sweep() {
    let text =
        format!("{SOUND}\n[sweep]\n\"machine.link.bandwidth\" = [\"16 GB/s\", \"32 GB/s\"]\n");
    assert_eq!(
        load_with(&text, &["machine.link.bandwidth=8 GB/s"])
            .points
            .len(),
        1
    );
    let scenario = load_with(
        &text,
        &["machine.link.bandwidth=[\"1 GB/s\", \"0.5 GB/s\", \"250 MB/s\"]"],
    );
    let bandwidths: Vec<u64> = scenario
        .points
        .iter()
        .map(|point| gpu(point).machine.spec.link.to_gpu.bytes_per_second())
        .collect();
    assert_eq!(bandwidths, [1_000_000_000, 500_000_000, 250_000_000]);
}

#[test]
fn another_machine_keeps_the_sweep_of_its_values() {
    let text =
        format!("{SOUND}\n[sweep]\n\"machine.link.bandwidth\" = [\"16 GB/s\", \"32 GB/s\"]\n");
    let sets = ["machine.sm.count=3", "machine=gtx480-paper"];
    let scenario = load_with(&text, &sets);
    assert_eq!(scenario.points.len(), 2);
    for (point, gigabytes) in scenario.points.iter().zip([16, 32]) {
        let machine = &gpu(point).machine;
        assert_eq!(
            (machine.name.as_str(), machine.spec.sm.count),
            ("gtx480-paper", 3)
        );
        let bandwidth = machine.spec.link.to_gpu.bytes_per_second();
        assert_eq!(bandwidth, gigabytes * 1_000_000_000);
    }
}

#[test]
fn a_key_that_only_some_modes_heed_is_known() {
    let text = format!(
        "{SOUND}\nunit = \"128 B\"\n[sweep]\n\"transfer.mode\" = [\"ideal-overlap\", \"multi-range\"]\n"
    );
    assert_eq!(load_with(&text, &[]).points.len(), 2);
}

#[test]
fn a_machine_beside_the_scenario_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for sub in ["machines", "work"] {
        std::fs::create_dir(root.join(sub)).expect("a folder");
    }
    let gtx480 = MACHINES.iter().find(|machine| machine.name == "gtx480");
    let text = gtx480.expect("it is built in").text;
    let machine = text.replace("value = 15,", "value = 3,");
    std::fs::write(root.join("machines/mine.toml"), &machine).expect("a machine");
    std::fs::write(root.join("work/odd.toml"), &machine).expect("a machine");
    for given in ["mine", "odd.toml", "../machines/mine.toml"] {
        let path = root.join("work/test.toml");
        std::fs::write(&path, SOUND.replace("\"gtx480\"", &format!("{given:?}")))
            .expect("a scenario");
        let scenario = load(path.to_str().expect("UTF-8"), &[])
            .unwrap_or_else(|errors| panic!("{given}: {errors}"));
        assert_eq!(gpu(&scenario.points[0]).machine.spec.sm.count, 3, "{given}");
    }
}

/// The scenario `SOUND` on a machine `mine` whose text is `machine`, with `others` beside it.
fn on_machine(machine: &str, others: &[(&str, &str)]) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for (name, text) in others.iter().chain([&("mine", machine)]) {
        std::fs::write(root.join(format!("{name}.toml")), text).expect("a machine");
    }
    let path = root.join("test.toml");
    std::fs::write(&path, SOUND.replace("\"gtx480\"", "\"mine.toml\"")).expect("a scenario");
    load(path.to_str().expect("UTF-8"), &[]).map_err(|errors| errors.render(false))
}

#[test]
fn a_machine_is_its_base_with_what_it_says_laid_over() {
    let mine = r#"
base = "first.toml"
kind = "gpu"
title = "Mine"
[sm]
count = { value = 3, source = "estimate" }
"#;
    let first = r#"
base = "gtx480"
kind = "gpu"
title = "First"
[sm]
count = { value = 5, source = "estimate" }
max_blocks = { value = 4, source = "estimate" }
"#;
    let scenario = on_machine(mine, &[("first", first)]).expect("it is sound");
    let machine = &gpu(&scenario.points[0]).machine;
    assert_eq!(
        (machine.name.as_str(), machine.title.as_str()),
        ("mine", "Mine")
    );
    assert_eq!(machine.spec.sm.count, 3, "of the machine itself");
    assert_eq!(machine.spec.sm.max_blocks, 4, "of its base");
    assert_eq!(machine.spec.sm.max_threads, 1536, "of its base's base");
}

#[test]
fn a_base_that_is_no_machine_is_refused() {
    let head = "kind = \"gpu\"\ntitle = \"Mine\"\n";
    let error = |base: &str| on_machine(&format!("base = {base}\n{head}"), &[]).unwrap_err();
    assert!(error("\"gtx840\"").contains("there is no machine \"gtx840\""));
    assert!(error("3").contains("`base` is 3: it must be the name of a machine"));
    assert!(error("\"mine.toml\"").contains("lead in a circle"));
}

#[test]
fn the_machine_of_the_document_differs_from_its_base_where_it_says_so() {
    let machine = |name: &str| {
        let source = SourceText::file(
            Path::new("scenarios/test.toml"),
            SOUND.replace("\"gtx480\"", &format!("{name:?}")),
        );
        let scenario = load_text(&source, &[]).expect("it is sound");
        gpu(&scenario.points[0]).machine.spec.clone()
    };
    let mut paper = machine("gtx480-paper");
    let chain = paper.gmmu.transactions.take().expect("a chain");
    let in_flight = (chain.in_flight, chain.units_in_flight);
    assert_eq!((chain.bytes, in_flight), (128, (1, 5)));
    let Translation::OneLevel { tlb, .. } = &mut paper.translation else {
        panic!("one level of TLBs");
    };
    assert_eq!(std::mem::take(&mut tlb.retry_cycles), 40);
    assert_eq!(paper.gmmu.validity, Validity::AtArrival);
    assert_eq!(paper.host_copies, HostCopies::Everything);
    paper.gmmu.validity = Validity::AtRequest;
    paper.host_copies = HostCopies::Inputs;
    paper.name = "gtx480".to_owned();
    assert_eq!(paper, machine("gtx480"));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let source = SourceText::file(Path::new("scenarios/test.toml"), text);
        let _ = load_text(&source, &[]);
    }

    #[test]
    fn arbitrary_overrides_never_panic(key in "[a-z._]{0,20}", value in "\\PC{0,40}") {
        let source = SourceText::file(Path::new("scenarios/test.toml"), SOUND.to_owned());
        let _ = load_text(&source, &[format!("{key}={value}"), value]);
    }

    #[test]
    fn arbitrary_values_of_known_keys_never_panic(
        key in prop::sample::select(vec![
            "title", "kind", "machine", "seed", "workload", "workload.name", "workload.elements", "transfer",
            "transfer.page_size", "transfer.unit", "transfer.range_slots", "machine.tlb.entries", "machine.tlb.ways",
            "machine.l1.size", "machine.dram.capacity", "machine.link", "machine.clocks.core", "machine.sm.timings",
        ]),
        value in prop_oneof![
            "[0-9]{1,20}", "[0-9]{1,20} (B|KiB|GiB|GB/s|Hz|THz|ns|cycles)", "\\PC{0,20}",
            "\\[(1|\"a\"|\\{ x = 1 \\}|true), (2|\"4 KiB\"|1.5|\\{ value = 3 \\})\\]", "\\{ (value|name|x) = (1|\"a\") \\}",
        ],
    ) {
        let source = SourceText::file(Path::new("scenarios/test.toml"), SOUND.to_owned());
        let _ = load_text(&source, &[format!("{key}={value}")]);
    }

    #[test]
    fn damaged_files_never_panic(at in 0..SOUND.len(), put in "\\PC{0,3}") {
        let mut text = SOUND.to_owned();
        text.replace_range(at..=at, &put);
        let source = SourceText::file(Path::new("scenarios/test.toml"), text);
        let _ = load_text(&source, &[]);
    }
}
