//! The values of a machine with a unified-memory driver.

use pagemill_policy::residency::{
    AHEADS, AccessCounterSpec, CounterRegion, DriverPolicy, EVICTIONS, GROWTHS, HostPage,
    PageTables, ThrashingSpec,
};
use pagemill_sim::parts::link::{LinkSpec, ReadSpec};
use pagemill_sim::{
    DriverCosts, DriverMachine, FaultOrder, FaultSpec, Memory, PatternCosts, Translation,
    TranslationSpec, WriteBursts,
};

use super::super::amounts::{bytes, number};
use super::{EVICTION_POLICIES, GpuMemory};
use pagemill_types::Picos;

use crate::document::Node;
use crate::quantity::{self, Wrong, one_of, registered};
use crate::sourced::SourcedSection;

/// `[faults]`, `[driver]` and `[policy]`.
pub(super) fn driver(root: &mut SourcedSection<'_>) -> Option<DriverMachine> {
    let faults = root.section("faults").and_then(read_faults);
    let costs = root.section("driver").and_then(read_costs);
    let policy = root.section("policy").and_then(read_policy);
    Some(DriverMachine {
        faults: faults?,
        costs: costs?,
        policy: policy?,
    })
}

/// `[patterns]`, which may be left out where no built-in pattern runs.
pub(super) fn patterns(root: &mut SourcedSection<'_>) -> Option<Option<PatternCosts>> {
    if !root.contains("patterns") {
        return Some(None);
    }
    let mut patterns = root.section("patterns")?;
    let iteration = patterns.value("iteration", quantity::time);
    let unrolled_reads = patterns.value("unrolled_reads", number);
    Some(Some(PatternCosts {
        iteration: iteration?,
        unrolled_reads: unrolled_reads?,
    }))
}

/// `[memory]`: a rate and a latency.
pub(super) fn memory(mut memory: SourcedSection<'_>) -> Option<GpuMemory> {
    let size = memory.value("size", quantity::bytes);
    let reserved = memory.value("reserved", quantity::bytes);
    let bandwidth = memory.value("bandwidth", quantity::bandwidth);
    let latency = memory.value("latency", quantity::time);
    let slices = memory.value("slices", number);
    let writes = write_bursts(&mut memory);
    Some(GpuMemory {
        depth: Memory::Rate {
            bandwidth: bandwidth?,
            latency: latency?,
            slices: slices?,
            writes: writes?,
        },
        bytes: Some(size?),
        reserved_bytes: reserved?,
    })
}

/// A machine that says one of the two has to say the other.
fn write_bursts(memory: &mut SourcedSection<'_>) -> Option<Option<WriteBursts>> {
    if !memory.contains("write_burst") && !memory.contains("turn_round") {
        return Some(None);
    }
    let lines = memory.value("write_burst", number);
    let turn_round = memory.value("turn_round", quantity::time);
    Some(Some(WriteBursts {
        lines: lines?,
        turn_round: turn_round?,
    }))
}

pub(super) fn link(mut link: SourcedSection<'_>) -> Option<LinkSpec> {
    let to_gpu = link.value("bandwidth", quantity::bandwidth);
    let to_cpu = link.optional("bandwidth_to_cpu", quantity::bandwidth);
    let read_latency = link.value("read_latency", quantity::time);
    let read_bytes = link.value("read", bytes);
    let copy_bytes = link.value("copy", bytes);
    let header_bytes = link.value("header", bytes);
    let outstanding_reads = link.value("outstanding_reads", number);
    let copy_latency = link.value("copy_latency", quantity::time);
    let to_gpu = to_gpu?;
    Some(LinkSpec {
        to_gpu,
        to_cpu: to_cpu?.unwrap_or(to_gpu),
        latency: copy_latency?,
        payload_bytes: copy_bytes?,
        header_bytes: header_bytes?,
        reads: Some(ReadSpec {
            latency: read_latency?,
            packet_bytes: read_bytes?,
            outstanding: outstanding_reads?,
        }),
    })
}

pub(super) fn translation(mut part: SourcedSection<'_>) -> Option<Translation> {
    let sms_per_utlb = part.value("sms_per_utlb", number);
    let utlb_entries = part.value("utlb_entries", number);
    let l2_entries = part.value("l2_entries", number);
    let l2_ways = part.value("l2_ways", number);
    let l2_latency = part.value("l2_latency", quantity::time);
    let concurrent_walks = part.value("concurrent_walks", number);
    let walk_latency = part.value("walk_latency", quantity::time);
    let local_page = part.value("local_page", quantity::page_size);
    let remote_page = part.value("remote_page", quantity::page_size);
    let looks_up_local = part.optional("local_lookups", quantity::boolean);
    Some(Translation::TwoLevels(TranslationSpec {
        sms_per_utlb: sms_per_utlb?,
        utlb_entries: utlb_entries?,
        l2_entries: l2_entries?,
        l2_ways: l2_ways?,
        l2_latency: l2_latency?,
        concurrent_walks: concurrent_walks?,
        walk_latency: walk_latency?,
        local_page: local_page?,
        remote_page: remote_page?,
        looks_up_local: looks_up_local?.unwrap_or(true),
    }))
}

fn read_faults(mut faults: SourcedSection<'_>) -> Option<FaultSpec> {
    let utlb_outstanding = faults.value("utlb_outstanding", number);
    let batch_entries = faults.value("batch_entries", number);
    let interrupt_latency = faults.value("interrupt_latency", quantity::time);
    let order = faults.optional("order", fault_order);
    Some(FaultSpec {
        utlb_outstanding: utlb_outstanding?,
        batch_entries: batch_entries?,
        interrupt_latency: interrupt_latency?,
        order: order?.unwrap_or_default(),
    })
}

fn read_costs(mut driver: SourcedSection<'_>) -> Option<DriverCosts> {
    // What the CPU does takes this much of the times below; copies are the link's.
    let host_percent = driver.optional("host_percent", number);
    let percent = u64::from(host_percent.flatten().unwrap_or(100));
    let of_host = |time: Picos| Picos(time.0 * percent / 100);
    let batch = driver.value("batch", quantity::time).map(of_host);
    let entry = driver.value("entry", quantity::time).map(of_host);
    let block = driver.value("block", quantity::time).map(of_host);
    let chunk = driver.value("chunk", quantity::time).map(of_host);
    let unmap = driver.value("host_page_unmap", quantity::time);
    let eviction = driver.value("eviction", quantity::time).map(of_host);
    let eviction_waits = driver.value("eviction_waits", quantity::boolean);
    let replay = driver.value("replay", quantity::time).map(of_host);
    let mut optional = |key| driver.optional(key, quantity::time);
    let (populate, queue) = (optional("host_page_populate"), optional("queue"));
    let (copy, first_batch) = (optional("copy"), optional("first_batch"));
    let (host_fault, block) = (optional("host_fault"), block?);
    host_percent?;
    let or_zero = |time: Option<Picos>| of_host(time.unwrap_or(Picos::ZERO));
    Some(DriverCosts {
        batch: batch?,
        entry: entry?,
        block,
        chunk: chunk?,
        host_page_unmap: unmap.map(of_host)?,
        host_page_populate: or_zero(populate?),
        queue: or_zero(queue?),
        copy: copy?.unwrap_or(Picos::ZERO),
        eviction: eviction?,
        eviction_waits: eviction_waits?,
        replay: replay?,
        first_batch: or_zero(first_batch?),
        host_fault: host_fault?.map_or(block, of_host),
    })
}

fn read_policy(mut policy: SourcedSection<'_>) -> Option<DriverPolicy> {
    let host_page = policy.value("host_page", host_page);
    let growth = policy.value("growth", registered("growth policies", &GROWTHS));
    let density_percent = policy.value("density_percent", number);
    let eviction = policy.value("eviction", registered(EVICTION_POLICIES, &EVICTIONS));
    let ahead = policy.optional("prefetch", registered("policies of prefetch", &AHEADS));
    let thrashing = read_thrashing(&mut policy);
    let access_counters = policy.value("access_counters", quantity::boolean);
    let threshold = policy.optional("access_counter_threshold", number);
    let region = policy.optional("access_counter_region", counter_region);
    let page_tables = policy.optional("page_tables", page_tables);
    let (access_counters, threshold, region) = (access_counters?, threshold?, region?);
    let default = AccessCounterSpec::default();
    Some(DriverPolicy {
        host_page: host_page?,
        growth: growth?,
        density_percent: density_percent?,
        eviction: eviction?,
        ahead: ahead?.unwrap_or(&AHEADS[0]),
        thrashing: thrashing?,
        access_counters: access_counters.then_some(AccessCounterSpec {
            threshold: threshold.unwrap_or(default.threshold),
            region: region.unwrap_or(default.region),
        }),
        page_tables: page_tables?.unwrap_or_default(),
    })
}

/// `thrashing = true` detects it with the driver's defaults, of which the file may replace some.
fn read_thrashing(policy: &mut SourcedSection<'_>) -> Option<Option<ThrashingSpec>> {
    let detected = policy.value("thrashing", quantity::boolean);
    let lapse = policy.optional("thrashing_lapse", quantity::time);
    let threshold = policy.optional("thrashing_threshold", number);
    let pin_threshold = policy.optional("thrashing_pin_threshold", number);
    let pin = policy.optional("thrashing_pin", quantity::time);
    let default = ThrashingSpec::default();
    let spec = ThrashingSpec {
        lapse: lapse?.unwrap_or(default.lapse),
        threshold: threshold?.unwrap_or(default.threshold),
        pin_threshold: pin_threshold?.unwrap_or(default.pin_threshold),
        pin: pin?.unwrap_or(default.pin),
        ..default
    };
    Some(detected?.then_some(spec))
}

fn fault_order(node: &Node) -> Result<FaultOrder, Wrong> {
    let orders = [
        ("arrival", FaultOrder::Arrival),
        ("turns", FaultOrder::Turns),
    ];
    one_of("orders of faults", &orders)(node)
}

fn page_tables(node: &Node) -> Result<PageTables, Wrong> {
    let tables = [("gpu", PageTables::Gpu), ("host", PageTables::Host)];
    one_of("page tables", &tables)(node)
}

fn counter_region(node: &Node) -> Result<CounterRegion, Wrong> {
    let sizes = [
        ("64 KiB", CounterRegion::Kib64),
        ("2 MiB", CounterRegion::Mib2),
    ];
    one_of("regions of an access counter", &sizes)(node)
}

fn host_page(node: &Node) -> Result<HostPage, Wrong> {
    let sizes = [("4 KiB", HostPage::Kib4), ("64 KiB", HostPage::Kib64)];
    one_of("page sizes of a host", &sizes)(node)
}
