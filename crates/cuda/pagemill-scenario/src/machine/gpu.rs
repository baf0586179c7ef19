//! The values of a simulated GPU.

use pagemill_pages::parts::cache::CacheSpec;
use pagemill_pages::parts::dram::DramSpec;
use pagemill_pages::parts::link::{LinkSpec, ReadSpec};
use pagemill_pages::parts::page_walk::WalkerSpec;
use pagemill_pages::parts::tlb::TlbSpec;
use pagemill_policy::residency::{
    AHEADS, AccessCounterSpec, CounterRegion, DriverPolicy, EVICTIONS, GROWTHS, HostPage,
    LeastRecentlyUsed, PageTables, ThrashingSpec,
};
use pagemill_sim::{
    AfterFullBuffer, AtomicSpec, CpuReturn, DriverCosts, DriverMachine, FaultOrder, FaultSpec,
    GmmuSpec, GpuMachine, HostCopies, HostReads, InstructionTiming, InstructionTimings,
    InterconnectSpec, IssueOrder, L1Loads, MachineCode, Memory, MergeScope, PatternCosts,
    Placement, SmSpec, SpecError, StallScope, StoreWay, TlbScope, TransactionChain, Translation,
    TranslationSpec, Validity, WriteBursts,
};
use pagemill_types::{PageSize, Picos};

use super::Machine;
use crate::document::{Node, Reader};
use crate::keys::{
    either, if_any, keys, optional, optional_section, or, or_default, part, read_key, section,
};
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{
    Wrong, any_count, bandwidth, boolean, bytes, choice, cycles, frequency, one_of, page_size,
    registered, show_bytes, time,
};
use crate::sourced::SourcedSection;

/// Reads and checks the simulated GPU of `file`; `page` is the page size that the TLBs see.
pub(crate) fn read(
    file: &MachineFile,
    page: PageSize,
    reader: &Reader,
) -> Option<Machine<GpuMachine>> {
    let name = file.source.stem();
    let read = |root: &mut SourcedSection<'_>| gpu(root, name, page);
    Machine::read(file, kind_names::GPU, reader, read, check)
}

/// Checks what the simulator would refuse.
fn check(gpu: &GpuMachine) -> Result<(), SpecError> {
    gpu.check()?;
    match gpu.memory_bytes {
        Some(bytes) if bytes < gpu.page.bytes() => {
            let page = show_bytes(gpu.page.bytes());
            let allowed = format!("must hold at least one page of {page}");
            Err(SpecError::new(gpu.memory.size_key(), bytes, allowed))
        }
        _ => Ok(()),
    }
}

/// "CUDA C++ Programming Guide", and "CUDA C Programming Guide" of CUDA 8 for the old ones.
const COMPUTE_CAPABILITIES: [&str; 24] = [
    "2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0",
    "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1",
];

/// A compute capability, times ten.
fn compute_capability(node: &Node) -> Result<u32, Wrong> {
    let version = choice("compute capabilities", &COMPUTE_CAPABILITIES)(node)?;
    let digits = version.chars().filter_map(|letter| letter.to_digit(10));
    Ok(digits.fold(0, |number, digit| 10 * number + digit))
}

/// GPU memory, by `[dram]` or `[memory]`.
struct GpuMemory {
    depth: Memory,
    bytes: Option<u64>,
    reserved_bytes: u64,
}

keys! {
    fn gpu(name: String, page: PageSize) -> GpuMachine {
        core_clock = "clocks.core", l2_clock = "clocks.l2": frequency,
        sm: section(sm),
        translation: either("translation", section(two_levels), part(one_level)),
        l1: section(cache),
        l2_kept_copy_bytes = "l2.keeps_copies": or_default(bytes),
        l2_far_cycles = "l2.far_half": or_default(cycles),
        l2_dirty_ways = "l2.dirty_ways": or(u32::MAX, any_count),
        l2_fetch_bytes = "l2.fetch": optional(bytes),
        l2: section(cache),
        interconnect: section(keys!(InterconnectSpec {
            latency_cycles = "latency": cycles,
            bytes_per_cycle: bytes,
            let to_sm = "sm_bytes_per_cycle": optional(bytes),
            store_bytes_per_cycle: optional(bytes),
            sm_stores: if_any(&["sm_store_bytes_per_cycle"], keys!(StoreWay {
                bytes_per_cycle = "sm_store_bytes_per_cycle", header_bytes = "store_header": bytes,
            })),
            answer_cycles = "answer": optional(cycles),
        } with { sm_bytes_per_cycle: to_sm.unwrap_or(bytes_per_cycle) })),
        let all = "memory": either("memory", section(memory), part(dram)),
        link: either("driver", section(driver_link), section(link)),
        gmmu: either("gmmu", section(gmmu),
            either("driver", part(|_| Some(GmmuSpec::ideal())), section(gmmu))),
        launch_overhead = "host.launch_overhead": time,
        placement = "host.placement": or_default(one_of("placements of allocations",
            &[("own-page", Placement::OwnPage), ("packed", Placement::Packed)])),
        host_reads = "host.reads_between_launches": or_default(one_of("amounts the CPU reads",
            &[("nothing", HostReads::Nothing), ("everything", HostReads::Everything)])),
        host_copies = "host.programmer_copies": or_default(one_of("amounts a programmer copies",
            &[("inputs", HostCopies::Inputs), ("everything", HostCopies::Everything)])),
        driver: if_any(&["driver"], driver),
        // It may be left out where no built-in pattern runs.
        patterns: either("driver", optional_section(keys!(PatternCosts {
            iteration: time, unrolled_reads: any_count,
        })), part(|_| Some(None))),
    } with {
        name, page,
        memory: all.depth, memory_bytes: all.bytes, reserved_bytes: all.reserved_bytes,
    }

    fn sm() -> SmSpec {
        count: any_count,
        // What CUDA 13's compiler compiles for unless asked otherwise.
        compute_capability: or(75, compute_capability),
        schedulers, max_threads, max_warps, max_blocks, max_threads_per_block: any_count,
        registers, register_unit, max_registers_per_thread: any_count,
        shared_bytes = "shared_memory", shared_unit = "shared_memory_unit": bytes,
        segment_cycles = "segment": cycles,
        wide_sectors_per_cycle: optional(any_count),
        queues_accesses: or_default(boolean),
        shared_replay_cycles = "shared_replay": cycles,
        block_start_cycles = "block_start": cycles,
        block_interval: or_default(time),
        l1_loads: or_default(one_of("loads that L1 keeps", &[("all", L1Loads::All), ("read-only", L1Loads::ReadOnly)])),
        atomics: if_any(&["atomic_words"], keys!(AtomicSpec {
            words_per_cycle = "atomic_words": any_count, repeat_cycles = "atomic_repeat": cycles,
        })),
        issue_order: or_default(one_of("orders of issue",
            &[("as-written", IssueOrder::AsWritten), ("loads-early", IssueOrder::LoadsEarly)])),
        timings: section(keys!(InstructionTimings {
            // A machine has all of these costs or none.
            machine_code: if_any(&["bit_count"], keys!(MachineCode {
                bit_count, integer_to_float, wide_multiply: section(timing),
                integer_divide, float32_divide, float32_root, float64_divide, texture: section(timing),
            })),
            integer, integer_multiply, float32, float64, special, convert: section(timing),
            shared, constant, memory, control: section(timing),
        })),
    }

    fn timing() -> InstructionTiming {
        issue_cycles = "issue", latency_cycles = "latency": cycles,
    }

    fn cache() -> CacheSpec {
        bytes = "size", line_bytes = "line": bytes,
        ways: any_count,
        hit_latency_cycles = "hit_latency": cycles,
        mshr_entries: any_count,
        hashed_sets: boolean,
    }

    fn link() -> LinkSpec {
        to_gpu = "bandwidth": bandwidth,
        let back = "bandwidth_to_cpu": optional(bandwidth),
        latency: time,
        payload_bytes = "payload", header_bytes = "header": bytes,
    } with { to_cpu: back.unwrap_or(to_gpu), reads: None }

    fn dram() -> GpuMemory {
        // The channels are the memory partitions.
        depth = "dram": section(keys!(Memory::Channels {
            dram: part(keys!(DramSpec {
                clock: frequency,
                bandwidth: bandwidth,
                channels, banks: any_count,
                row_bytes = "row": bytes,
                column_cycles = "column", activate_cycles = "activate": cycles,
                precharge_cycles = "precharge", row_cycle_cycles = "row_cycle": cycles,
            })),
            partition_bytes = "interleave": bytes,
            partition_hash = "interleave_hash": boolean,
        })),
        bytes = "dram.capacity": optional(bytes),
    } with { reserved_bytes: 0 }

    fn memory() -> GpuMemory {
        let size: bytes,
        reserved_bytes = "reserved": bytes,
        depth: part(keys!(Memory::Rate {
            bandwidth: bandwidth,
            latency: time,
            slices: any_count,
            writes: if_any(&["write_burst", "turn_round"], keys!(WriteBursts {
                lines = "write_burst": any_count, turn_round: time,
                hold_stores = "writes_hold_stores": or_default(boolean),
            })),
        })),
    } with { bytes: Some(size) }

    fn gmmu() -> GmmuSpec {
        buffer_entries: any_count,
        state_query_cycles = "state_query", state_update_cycles = "state_update": cycles,
        fault_overhead: time,
        cpu_return: one_of("amounts a CPU request brings back", &[("whole-page", CpuReturn::WholePage), ("valid", CpuReturn::Valid)]),
        merge: one_of("scopes in which requests share a migration",
            &[("gpu", MergeScope::Gpu), ("partition", MergeScope::Partition),
              ("sm", MergeScope::Sm), ("none", MergeScope::Nothing)]),
        stall: or_default(one_of("scopes that a waiting request stops",
            &[("requester", StallScope::Requester), ("sm", StallScope::Sm), ("gpu", StallScope::Gpu)])),
        concurrent_migrations: optional(any_count),
        eviction: or(&LeastRecentlyUsed::ENTRY, registered("eviction policies", &EVICTIONS)),
        transactions: optional_section(keys!(TransactionChain {
            bytes: bytes,
            round_trip: time,
            in_flight: any_count,
            units_in_flight: or(1, any_count),
        })),
        validity: or_default(one_of("moments at which ranges become valid",
            &[("at-request", Validity::AtRequest), ("at-arrival", Validity::AtArrival)])),
        after_full_buffer: or_default(one_of("ways to go on after a full buffer",
            &[("moves", AfterFullBuffer::Moves), ("looks-up-again", AfterFullBuffer::LooksUpAgain)])),
    }

    fn driver_link() -> LinkSpec {
        to_gpu = "bandwidth": bandwidth,
        let back = "bandwidth_to_cpu": optional(bandwidth),
        let read_latency: time,
        let packet_bytes = "read": bytes,
        payload_bytes = "copy", header_bytes = "header": bytes,
        let outstanding = "outstanding_reads": any_count,
        latency = "copy_latency": time,
    } with {
        to_cpu: back.unwrap_or(to_gpu),
        reads: Some(ReadSpec { latency: read_latency, packet_bytes, outstanding }),
    }

    fn driver() -> DriverMachine {
        faults: section(keys!(FaultSpec {
            utlb_outstanding, batch_entries: any_count,
            interrupt_latency: time,
            order: or_default(one_of("orders of faults", &[("arrival", FaultOrder::Arrival), ("turns", FaultOrder::Turns)])),
        })),
        costs = "driver": section(costs),
        policy: section(policy),
    }

    fn costs_at(percent: u32) -> DriverCosts {
        batch, entry, block, chunk, host_page_unmap, eviction: of_host(percent),
        eviction_waits: boolean,
        replay: of_host(percent),
        host_page_populate, queue: or_default(of_host(percent)),
        copy: or_default(time),
        first_batch: or_default(of_host(percent)),
        let cpu_fault = "host_fault": optional(of_host(percent)),
    } with { host_fault: cpu_fault.unwrap_or(block) }

    fn policy() -> DriverPolicy {
        host_page: one_of("page sizes of a host", &[("4 KiB", HostPage::Kib4), ("64 KiB", HostPage::Kib64)]),
        growth: registered("growth policies", &GROWTHS),
        density_percent: any_count,
        eviction: registered("eviction policies", &EVICTIONS),
        ahead = "prefetch": or(&AHEADS[0], registered("policies of prefetch", &AHEADS)),
        let is_thrashing = "thrashing": boolean,
        // The driver's defaults, of which the file may replace some.
        let found: part(keys!(ThrashingSpec {
            lapse = "thrashing_lapse": or(ThrashingSpec::default().lapse, time),
            threshold = "thrashing_threshold": or(ThrashingSpec::default().threshold, any_count),
            pin_threshold = "thrashing_pin_threshold":
                or(ThrashingSpec::default().pin_threshold, any_count),
            pin = "thrashing_pin": or(ThrashingSpec::default().pin, time),
        } with { ..ThrashingSpec::default() })),
        let is_counting = "access_counters": boolean,
        let counters: part(keys!(AccessCounterSpec {
            threshold = "access_counter_threshold":
                or(AccessCounterSpec::default().threshold, any_count),
            region = "access_counter_region": or(AccessCounterSpec::default().region,
                one_of("regions of an access counter",
                    &[("64 KiB", CounterRegion::Kib64), ("2 MiB", CounterRegion::Mib2)])),
        })),
        page_tables: or_default(one_of("page tables", &[("gpu", PageTables::Gpu), ("host", PageTables::Host)])),
    } with {
        thrashing: is_thrashing.then_some(found),
        access_counters: is_counting.then_some(counters),
    }

    fn one_level() -> Translation::OneLevel {
        scope = "tlb.scope": one_of("scopes of a TLB", &[("per-sm", TlbScope::PerSm), ("shared", TlbScope::Shared)]),
        tlb: section(keys!(TlbSpec {
            entries, ways, ports: any_count,
            hit_latency_cycles = "hit_latency": cycles,
            retry_cycles = "retry": or_default(cycles),
        })),
        walker: section(keys!(WalkerSpec {
            concurrent_walks: any_count,
            level_latency_cycles = "level_latency": cycles,
            address_bits, level_bits: any_count,
        })),
    }
}

fn two_levels(part: &mut SourcedSection<'_>) -> Option<Translation> {
    let read = keys!(TranslationSpec {
        sms_per_utlb, utlb_entries, l2_entries, l2_ways: any_count,
        l2_latency: time,
        concurrent_walks: any_count,
        walk_latency: time,
        local_page, remote_page: page_size,
        looks_up_local = "local_lookups": or(true, boolean),
    });
    read(part).map(Translation::TwoLevels)
}

/// What the CPU does takes a percentage of the times in the file; copies are the link's.
fn costs(driver: &mut SourcedSection<'_>) -> Option<DriverCosts> {
    let percent = read_key(driver, "host_percent", or(100, any_count));
    let costs = costs_at(driver, percent.unwrap_or(100));
    percent.and(costs)
}

fn of_host(percent: u32) -> impl Fn(&Node) -> Result<Picos, Wrong> {
    move |node| Ok(Picos(time(node)?.0 * u64::from(percent) / 100))
}
