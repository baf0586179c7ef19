//! Scenarios and machines of `kind = "nic"`: what sound ones become, and the errors of wrong ones.

use std::path::Path;

use pagemill_nic::{NicMachine, TablePlace};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Machine, NicPoint, NicWorkload, PointSpec, load_nic_machine, load_text};

const SOUND: &str = r#"
title = "A test"
kind = "nic"
machine = "pni"
[workload]
name = "latency"
level = "rdma"
bytes = "64 B"
"#;

fn load(text: &str, sets: &[&str]) -> Result<NicPoint, String> {
    let source = SourceText::file(Path::new("scenarios/test.toml"), text.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let mut scenario = load_text(&source, &sets).map_err(|errors| errors.render(false))?;
    match scenario.points.remove(0).spec {
        PointSpec::Nic(point) => Ok(*point),
        other => Err(format!("it is of kind {}", other.kind())),
    }
}

#[test]
fn the_machine_file_and_the_simulator_agree_on_the_pni() {
    let point = load(SOUND, &[]).unwrap();
    assert_eq!(point.machine.spec, NicMachine::pni());
    assert!(matches!(point.workload, NicWorkload::Latency(_)));
    assert_eq!(load_nic_machine("pni").unwrap().spec, NicMachine::pni());
}

/// The machine `name`, whose values all have a source.
fn sourced(name: &str) -> Machine<NicMachine> {
    let machine = load_nic_machine(name).unwrap();
    let mut sources = machine.settings.iter().map(|setting| &setting.source);
    assert!(sources.all(|source| source.len() > 2), "{name}");
    machine
}

#[test]
fn every_machine_is_sound_and_every_value_has_a_source() {
    for name in ["pni", "pdp", "qdr", "on-die"] {
        assert_eq!(sourced(name).settings.len(), 44, "{name}");
    }
}

#[test]
fn machines_of_today_are_sound_and_every_value_has_a_source() {
    for (name, values) in [
        ("card-400g", 44),
        ("slingshot-11", 44),
        // The window of long messages.
        ("efa-hpc6a", 45),
        ("tofu-d", 44),
        ("bxi-2", 44),
        // Memory of a GPU.
        ("connectx-5-gpu", 48),
    ] {
        assert_eq!(sourced(name).settings.len(), values, "{name}");
    }
    let machine = sourced("connectx-7").spec;
    assert!(machine.table.keys.is_some() && machine.messages.registration.is_some());
    assert_eq!(machine.table.place, TablePlace::MainMemory);
    let ats = sourced("card-400g-ats").spec.table;
    assert_eq!(ats.place, TablePlace::Iommu);
    assert!(ats.iommu.is_some_and(|iommu| iommu.has_device_tlb));
    let demand = sourced("card-400g-on-demand").spec.table.paging;
    assert!(demand.is_some_and(|paging| paging.is_on_demand));
    for name in [
        "card-400g-main-memory",
        "chip-400g-main-memory",
        "nfp-6000-broadwell",
    ] {
        sourced(name);
    }
}

#[test]
fn what_translates_is_one_key_apart_and_wrong_values_are_refused() {
    let card = r#"machine="connectx-7""#;
    let point = load(SOUND, &[card, r#"machine.att.table="iommu""#]).unwrap();
    assert_eq!(point.machine.spec.table.place, TablePlace::Iommu);
    let mixed = [
        card,
        r#"machine.att.large_page="2 MiB""#,
        "machine.att.large_share=50",
    ];
    let large = load(SOUND, &mixed).unwrap().machine.spec.att.layout.large;
    assert_eq!(large.map(|large| large.share_percent), Some(50));
    let cases: [(&[&str], &str); 6] = [
        (&[r#"machine.att.table="iommu""#], "[iommu]"),
        (&[card, "machine.keys.entries=1000"], "machine.keys.entries"),
        (&[card, "machine.iommu.ways=128"], "machine.iommu.ways"),
        (&[card, r#"machine.paging.pages="lazy""#], "on-demand"),
        (&[card, r#"machine.registration.mode="never""#], "cached"),
        (
            &[
                card,
                r#"machine.att.large_page="4 KiB""#,
                "machine.att.large_share=50",
            ],
            "larger than the page",
        ),
    ];
    for (sets, expected) in cases {
        let error = load(SOUND, sets).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn machines_with_switches_say_where_they_are_from() {
    for name in ["pni-clos-2", "pni-clos-3", "pni-dragonfly"] {
        assert!(sourced(name).spec.network.is_some(), "{name}");
    }
}

#[test]
fn a_network_is_laid_over_a_machine_and_wrong_ones_are_refused() {
    let clos = r#"machine="pni-clos-2""#;
    let point = load(SOUND, &[clos, r#"machine.network.routing="adaptive""#]).unwrap();
    let network = point.machine.spec.network.expect("the file has one");
    assert_eq!(network.routing, pagemill_policy::routing::Routing::Adaptive);

    let error = load(SOUND, &[clos, "machine.network.parents=[[2, 16]]"]).unwrap_err();
    assert!(error.contains("a node has one interface"), "{error}");
    let error = load(SOUND, &[clos, r#"machine.network.routing="statik""#]).unwrap_err();
    assert!(error.contains("did you mean `static`?"), "{error}");
    let error = load(SOUND, &[clos, r#"machine.network.topology="torus""#]).unwrap_err();
    assert!(error.contains("shape"), "{error}");
}

#[test]
fn every_workload_can_be_named() {
    let workloads = [
        "name=\"latency\", level=\"mpi\", bytes=\"1 KiB\", source=\"random\", target=\"stride\", span=\"1 GiB\", distance=\"1 MiB\", buffers=3",
        "name=\"bandwidth\", level=\"rdma\", bytes=\"1 KiB\", window=4",
        "name=\"bidirectional\", level=\"mpi\", bytes=\"1 KiB\", target=\"first-touch\"",
        "name=\"ports\", ports=4096",
        "name=\"dma\", operation=\"write\", bytes=\"128 B\", span=\"1 GiB\", accesses=10, warmup=1, depth=2",
        "name=\"ring\", ranks=4, bytes=\"8 B\"",
        "name=\"all-to-all\", ranks=4, bytes=\"8 B\"",
        "name=\"shift\", ranks=4, bytes=\"8 B\", distance=3",
        "name=\"incast\", ranks=4, bytes=\"8 B\"",
        "name=\"pairs\", ranks=4, bytes=\"8 B\"",
        "name=\"halo\", ranks=4, bytes=\"8 B\", compute=\"1 us\"",
    ];
    let bare = SOUND.split("[workload]").next().unwrap();
    for workload in workloads {
        let point = load(&format!("{bare}\nworkload = {{ {workload} }}\n"), &[]).unwrap();
        let name = workload.split('"').nth(1).unwrap();
        assert_eq!(point.workload.name(), name);
    }
}

#[test]
fn what_is_wrong_is_told() {
    let cases: [(&[&str], &str); 9] = [
        (&["workload.name=pingpong"], "workloads"),
        (&["workload.level=verbs"], "levels"),
        (&["workload.bytes=64"], "unit"),
        (&["workload.bytes=2 TiB"], "at most 1 TiB"),
        (&["workload.windw=3"], "workload.windw"),
        (
            &["machine.att.organization=full"],
            "organizations of an ATT cache",
        ),
        (&["machine.att.cache=100 B"], "machine.att.cache"),
        (&["machine.wire.payload=0 B"], "machine.wire.payload"),
        (&["machine=gtx480"], "machine of the same kind"),
    ];
    for (sets, expected) in cases {
        let text = load(SOUND, sets).unwrap_err();
        assert!(text.contains(expected), "{sets:?}: {text}");
    }
    assert!(load_nic_machine("gtx480").is_err());
    assert!(
        load_nic_machine("nosuch")
            .unwrap_err()
            .render(false)
            .contains("no machine")
    );
}
