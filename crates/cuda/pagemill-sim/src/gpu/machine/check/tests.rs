use super::*;
use crate::gpu::machine::StoreWay;
use crate::gtx480::gtx480;

fn one_level(machine: &mut GpuMachine) -> (&mut TlbSpec, &mut WalkerSpec) {
    match &mut machine.translation {
        Translation::OneLevel { tlb, walker, .. } => (tlb, walker),
        Translation::TwoLevels(_) => unreachable!("the preset has one level"),
    }
}

fn channels(machine: &mut GpuMachine) -> (&mut DramSpec, &mut u32) {
    match &mut machine.memory {
        Memory::Channels {
            dram,
            partition_bytes,
            ..
        } => (dram, partition_bytes),
        Memory::Rate { .. } => unreachable!("the preset has channels"),
    }
}

#[test]
fn the_preset_is_possible() {
    assert_eq!(gtx480().check(), Ok(()));
}

#[test]
fn impossible_values_are_named() {
    type Spoil = fn(&mut GpuMachine);
    let cases: [(&str, Spoil); 16] = [
        ("sm.count", |m| m.sm.count = 0),
        ("sm.count", |m| m.sm.count = 1000),
        ("sm.timings.float64.issue_cycles", |m| {
            m.sm.timings.float64.issue_cycles = 0
        }),
        ("tlb.entries", |m| one_level(m).0.entries = 0),
        ("tlb.ways", |m| one_level(m).0.ways = 3),
        ("walker.level_bits", |m| one_level(m).1.level_bits = 0),
        ("gmmu.buffer_entries", |m| m.gmmu.buffer_entries = 0),
        ("gmmu.concurrent_migrations", |m| {
            m.gmmu.concurrent_migrations = Some(0)
        }),
        ("sm.wide_sectors_per_cycle", |m| {
            m.sm.wide_sectors_per_cycle = Some(0)
        }),
        ("interconnect.sm_store_bytes_per_cycle", |m| {
            m.interconnect.sm_stores = Some(StoreWay {
                bytes_per_cycle: 0,
                header_bytes: 0,
            })
        }),
        ("l1.line_bytes", |m| m.l1.line_bytes = 64),
        ("l2.size", |m| m.l2.bytes = 1000),
        ("dram.banks", |m| channels(m).0.banks = 12),
        ("dram.interleave", |m| *channels(m).1 = 100),
        ("dram.capacity", |m| m.memory_bytes = Some(0)),
        ("memory.size", |m| {
            m.memory_bytes = Some(0);
            m.memory = Memory::Rate {
                bandwidth: m.link.to_gpu,
                latency: Picos::from_nanos(300),
                slices: 1,
                writes: None,
            };
        }),
    ];
    for (key, spoil) in cases {
        let mut machine = gtx480();
        spoil(&mut machine);
        let error = machine.check().expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
}
