//! The values of a simulated GPU.

mod caches;
mod driver;

use pagemill_policy::residency::{EVICTIONS, LeastRecentlyUsed};
use pagemill_sim::parts::dram::DramSpec;
use pagemill_sim::parts::link::LinkSpec;
use pagemill_sim::parts::page_walk::WalkerSpec;
use pagemill_sim::parts::tlb::TlbSpec;
use pagemill_sim::{
    AfterFullBuffer, AtomicSpec, CpuReturn, GmmuSpec, GpuMachine, HostCopies, HostReads,
    InstructionTiming, InstructionTimings, IssueOrder, L1Loads, MachineCode, Memory, MergeScope,
    Placement, SmSpec, SpecError, StallScope, TlbScope, TransactionChain, Translation, Validity,
};
use pagemill_types::{PageSize, Picos};

use super::amounts::{bytes, cycles, number};

use super::{Machine, MachineFile, Refused};
use crate::document::Reader;
use crate::kind_names;
use crate::quantity::{self, one_of, registered, show_bytes};
use crate::sourced::SourcedSection;

/// Reads and checks the simulated GPU of `file`; `page` is the page size that the TLBs see.
pub(crate) fn read(
    file: &MachineFile,
    page: PageSize,
    reader: &Reader,
) -> Option<Machine<GpuMachine>> {
    Machine::read(file, kind_names::GPU, reader, |root| {
        let gpu = read_gpu(root, &file.source.stem(), page)?;
        if let Err(error) = check(&gpu) {
            let refused = Refused {
                key: file_key(&error.key),
                value: error.value,
                why: error.allowed,
            };
            refused.report(file, reader);
            return None;
        }
        Some(gpu)
    })
}

/// Checks what the simulator would refuse.
fn check(gpu: &GpuMachine) -> Result<(), SpecError> {
    gpu.check()?;
    match gpu.memory_bytes {
        Some(bytes) if bytes < gpu.page.bytes() => Err(SpecError {
            key: "memory_bytes".to_owned(),
            value: bytes.to_string(),
            allowed: format!(
                "must hold at least one page of {}",
                show_bytes(gpu.page.bytes())
            ),
        }),
        _ => Ok(()),
    }
}

/// The name in a machine file of a value that the simulator calls `key`: units are in the value, not in the name.
fn file_key(key: &str) -> String {
    let renamed = match key {
        "core_clock" => "clocks.core",
        "l2_clock" => "clocks.l2",
        "l1.bytes" => "l1.size",
        "l2.bytes" => "l2.size",
        "sm.shared_bytes" => "sm.shared_memory",
        "sm.shared_unit" => "sm.shared_memory_unit",
        "interconnect.bytes_per_cycle" | "interconnect.sm_bytes_per_cycle" => key,
        "partition_bytes" => "dram.interleave",
        "link.to_gpu" => "link.bandwidth",
        "link.to_cpu" => "link.bandwidth_to_cpu",
        "memory_bytes" => "dram.capacity",
        "memory.size" | "link.read" | "link.copy" => key,
        "launch_overhead" => "host.launch_overhead",
        _ => key.trim_end_matches("_cycles").trim_end_matches("_bytes"),
    };
    renamed.to_owned()
}

fn read_gpu(root: &mut SourcedSection<'_>, name: &str, page: PageSize) -> Option<GpuMachine> {
    // Every section is read before the first `?`, so that all of its problems are reported at once.
    let clocks = root.section("clocks").and_then(|mut clocks| {
        let (core, l2) = (
            clocks.value("core", quantity::frequency),
            clocks.value("l2", quantity::frequency),
        );
        Some((core?, l2?))
    });
    let sm = root.section("sm").and_then(read_sm);
    let translation = match root.contains("translation") {
        true => root.section("translation").and_then(driver::translation),
        false => read_one_level(root),
    };
    let l1 = root.section("l1").and_then(caches::cache);
    let l2 = root.section("l2").and_then(caches::second_level);
    let interconnect = root.section("interconnect").and_then(caches::interconnect);
    let memory = match root.contains("memory") {
        true => root.section("memory").and_then(driver::memory),
        false => root.section("dram").and_then(read_dram),
    };
    let has_driver = root.contains("driver");
    let link = root.section("link").and_then(match has_driver {
        true => driver::link,
        false => read_link,
    });
    let gmmu = match has_driver && !root.contains("gmmu") {
        true => Some(GmmuSpec::ideal()),
        false => root.section("gmmu").and_then(read_gmmu),
    };
    let host = root.section("host").and_then(read_host);
    let (driver, patterns) = match has_driver {
        true => (driver::driver(root).map(Some), driver::patterns(root)),
        false => (Some(None), Some(None)),
    };
    let (core_clock, l2_clock) = clocks?;
    let (memory, host) = (memory?, host?);
    let l2 = l2?;
    Some(GpuMachine {
        name: name.to_owned(),
        core_clock,
        l2_clock,
        page,
        sm: sm?,
        translation: translation?,
        l1: l1?,
        l2: l2.slice,
        l2_keeps_copies: l2.keeps_copies,
        l2_far_cycles: l2.far_cycles,
        l2_fetch_bytes: l2.fetch_bytes,
        interconnect: interconnect?,
        memory: memory.depth,
        link: link?,
        gmmu: gmmu?,
        driver: driver?,
        patterns: patterns?,
        memory_bytes: memory.bytes,
        reserved_bytes: memory.reserved_bytes,
        launch_overhead: host.launch_overhead,
        placement: host.placement,
        host_reads: host.reads,
        host_copies: host.copies,
    })
}

fn read_one_level(root: &mut SourcedSection<'_>) -> Option<Translation> {
    let tlb = root.section("tlb").and_then(read_tlb);
    let walker = root.section("walker").and_then(read_walker);
    let (tlb, scope) = tlb?;
    Some(Translation::OneLevel {
        tlb,
        scope,
        walker: walker?,
    })
}

/// How messages name what [`EVICTIONS`] holds.
pub(super) const EVICTION_POLICIES: &str = "eviction policies";

/// Compute capabilities, times ten: "CUDA C++ Programming Guide", and "CUDA C Programming Guide" of CUDA 8 for the old ones.
const COMPUTE_CAPABILITIES: [(&str, u32); 24] = [
    ("2.0", 20),
    ("2.1", 21),
    ("3.0", 30),
    ("3.2", 32),
    ("3.5", 35),
    ("3.7", 37),
    ("5.0", 50),
    ("5.2", 52),
    ("5.3", 53),
    ("6.0", 60),
    ("6.1", 61),
    ("6.2", 62),
    ("7.0", 70),
    ("7.2", 72),
    ("7.5", 75),
    ("8.0", 80),
    ("8.6", 86),
    ("8.7", 87),
    ("8.9", 89),
    ("9.0", 90),
    ("10.0", 100),
    ("10.3", 103),
    ("12.0", 120),
    ("12.1", 121),
];

/// Of a machine file that does not say: what CUDA 13's compiler compiles for unless asked otherwise.
const DEFAULT_CAPABILITY: u32 = 75;

fn read_sm(mut sm: SourcedSection<'_>) -> Option<SmSpec> {
    let count = sm.value("count", number);
    let compute_capability = match sm.contains("compute_capability") {
        true => sm.value(
            "compute_capability",
            one_of("compute capabilities", &COMPUTE_CAPABILITIES),
        ),
        false => Some(DEFAULT_CAPABILITY),
    };
    let schedulers = sm.value("schedulers", number);
    let max_threads = sm.value("max_threads", number);
    let max_warps = sm.value("max_warps", number);
    let max_blocks = sm.value("max_blocks", number);
    let max_threads_per_block = sm.value("max_threads_per_block", number);
    let registers = sm.value("registers", number);
    let register_unit = sm.value("register_unit", number);
    let max_registers_per_thread = sm.value("max_registers_per_thread", number);
    let shared_bytes = sm.value("shared_memory", bytes);
    let shared_unit = sm.value("shared_memory_unit", bytes);
    let segment_cycles = sm.value("segment", cycles);
    let shared_replay_cycles = sm.value("shared_replay", cycles);
    let block_start_cycles = sm.value("block_start", cycles);
    let block_interval = sm.optional("block_interval", quantity::time);
    let kept = [("all", L1Loads::All), ("read-only", L1Loads::ReadOnly)];
    let l1_loads = sm.optional("l1_loads", one_of("loads that L1 keeps", &kept));
    let has_atomics = sm.contains("atomic_words");
    let atomics = has_atomics.then(|| read_atomics(&mut sm));
    let orders = [
        ("as-written", IssueOrder::AsWritten),
        ("loads-early", IssueOrder::LoadsEarly),
    ];
    let issue_order = sm.optional("issue_order", one_of("orders of issue", &orders));
    let timings = sm.section("timings").and_then(read_timings);
    Some(SmSpec {
        count: count?,
        compute_capability: compute_capability?,
        schedulers: schedulers?,
        max_threads: max_threads?,
        max_warps: max_warps?,
        max_blocks: max_blocks?,
        max_threads_per_block: max_threads_per_block?,
        registers: registers?,
        register_unit: register_unit?,
        max_registers_per_thread: max_registers_per_thread?,
        shared_bytes: shared_bytes?,
        shared_unit: shared_unit?,
        timings: timings?,
        segment_cycles: segment_cycles?,
        shared_replay_cycles: shared_replay_cycles?,
        block_start_cycles: block_start_cycles?,
        block_interval: block_interval?.unwrap_or(Picos::ZERO),
        l1_loads: l1_loads?.unwrap_or_default(),
        atomics: all_or_none(atomics)?,
        issue_order: issue_order?.unwrap_or_default(),
    })
}

fn read_atomics(sm: &mut SourcedSection<'_>) -> Option<AtomicSpec> {
    let words_per_cycle = sm.value("atomic_words", number);
    let repeat_cycles = sm.value("atomic_repeat", cycles);
    Some(AtomicSpec {
        words_per_cycle: words_per_cycle?,
        repeat_cycles: repeat_cycles?,
    })
}

fn read_timings(mut timings: SourcedSection<'_>) -> Option<InstructionTimings> {
    let has_code = timings.contains("bit_count");
    let machine_code = has_code.then(|| read_machine_code(&mut timings));
    let mut class = |name| read_timing(&mut timings, name);
    let (integer, integer_multiply) = (class("integer"), class("integer_multiply"));
    let (float32, float64) = (class("float32"), class("float64"));
    let (special, convert) = (class("special"), class("convert"));
    let (shared, constant) = (class("shared"), class("constant"));
    let (memory, control) = (class("memory"), class("control"));
    Some(InstructionTimings {
        integer: integer?,
        integer_multiply: integer_multiply?,
        float32: float32?,
        float64: float64?,
        special: special?,
        convert: convert?,
        shared: shared?,
        constant: constant?,
        memory: memory?,
        control: control?,
        machine_code: all_or_none(machine_code)?,
    })
}

/// What a machine may lack; `None` if it has it and it is wrong. Asked for at the end, once all other keys were read.
fn all_or_none<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |read| read.map(Some))
}

/// Costs that a machine has all of or none.
fn read_machine_code(timings: &mut SourcedSection<'_>) -> Option<MachineCode> {
    let mut class = |name| read_timing(timings, name);
    let (bit_count, integer_to_float) = (class("bit_count"), class("integer_to_float"));
    let (wide_multiply, integer_divide) = (class("wide_multiply"), class("integer_divide"));
    let (float32_divide, float32_root) = (class("float32_divide"), class("float32_root"));
    let float64_divide = class("float64_divide");
    Some(MachineCode {
        bit_count: bit_count?,
        integer_to_float: integer_to_float?,
        wide_multiply: wide_multiply?,
        integer_divide: integer_divide?,
        float32_divide: float32_divide?,
        float32_root: float32_root?,
        float64_divide: float64_divide?,
    })
}

fn read_timing(timings: &mut SourcedSection<'_>, name: &str) -> Option<InstructionTiming> {
    let mut class = timings.section(name)?;
    let (issue_cycles, latency_cycles) =
        (class.value("issue", cycles), class.value("latency", cycles));
    Some(InstructionTiming {
        issue_cycles: issue_cycles?,
        latency_cycles: latency_cycles?,
    })
}

fn read_tlb(mut tlb: SourcedSection<'_>) -> Option<(TlbSpec, TlbScope)> {
    let scope = tlb.value(
        "scope",
        one_of(
            "scopes of a TLB",
            &[("per-sm", TlbScope::PerSm), ("shared", TlbScope::Shared)],
        ),
    );
    let entries = tlb.value("entries", number);
    let ways = tlb.value("ways", number);
    let ports = tlb.value("ports", number);
    let hit_latency_cycles = tlb.value("hit_latency", cycles);
    let retry_cycles = tlb.optional("retry", cycles);
    let spec = TlbSpec {
        entries: entries?,
        ways: ways?,
        ports: ports?,
        hit_latency_cycles: hit_latency_cycles?,
        retry_cycles: retry_cycles?.unwrap_or(0),
    };
    Some((spec, scope?))
}

fn read_walker(mut walker: SourcedSection<'_>) -> Option<WalkerSpec> {
    let concurrent_walks = walker.value("concurrent_walks", number);
    let level_latency_cycles = walker.value("level_latency", cycles);
    let address_bits = walker.value("address_bits", number);
    let level_bits = walker.value("level_bits", number);
    Some(WalkerSpec {
        concurrent_walks: concurrent_walks?,
        level_latency_cycles: level_latency_cycles?,
        address_bits: address_bits?,
        level_bits: level_bits?,
    })
}

/// GPU memory, by `[dram]` or `[memory]`.
pub(super) struct GpuMemory {
    pub(super) depth: Memory,
    pub(super) bytes: Option<u64>,
    pub(super) reserved_bytes: u64,
}

/// `[dram]`, whose channels are the memory partitions.
fn read_dram(mut dram: SourcedSection<'_>) -> Option<GpuMemory> {
    let clock = dram.value("clock", quantity::frequency);
    let bandwidth = dram.value("bandwidth", quantity::bandwidth);
    let channels = dram.value("channels", number);
    let banks = dram.value("banks", number);
    let row_bytes = dram.value("row", bytes);
    let column_cycles = dram.value("column", cycles);
    let activate_cycles = dram.value("activate", cycles);
    let precharge_cycles = dram.value("precharge", cycles);
    let row_cycle_cycles = dram.value("row_cycle", cycles);
    let partition_bytes = dram.value("interleave", bytes);
    let partition_hash = dram.value("interleave_hash", quantity::boolean);
    let memory_bytes = dram.optional("capacity", quantity::bytes);
    let spec = DramSpec {
        clock: clock?,
        bandwidth: bandwidth?,
        channels: channels?,
        banks: banks?,
        row_bytes: row_bytes?,
        column_cycles: column_cycles?,
        activate_cycles: activate_cycles?,
        precharge_cycles: precharge_cycles?,
        row_cycle_cycles: row_cycle_cycles?,
    };
    Some(GpuMemory {
        depth: Memory::Channels {
            dram: spec,
            partition_bytes: partition_bytes?,
            partition_hash: partition_hash?,
        },
        bytes: memory_bytes?,
        reserved_bytes: 0,
    })
}

fn read_link(mut link: SourcedSection<'_>) -> Option<LinkSpec> {
    let to_gpu = link.value("bandwidth", quantity::bandwidth);
    let to_cpu = link.optional("bandwidth_to_cpu", quantity::bandwidth);
    let latency = link.value("latency", quantity::time);
    let payload_bytes = link.value("payload", bytes);
    let header_bytes = link.value("header", bytes);
    let to_gpu = to_gpu?;
    Some(LinkSpec {
        to_gpu,
        to_cpu: to_cpu?.unwrap_or(to_gpu),
        latency: latency?,
        payload_bytes: payload_bytes?,
        header_bytes: header_bytes?,
        reads: None,
    })
}

fn read_gmmu(mut gmmu: SourcedSection<'_>) -> Option<GmmuSpec> {
    let returns = [
        ("whole-page", CpuReturn::WholePage),
        ("valid", CpuReturn::Valid),
    ];
    let buffer_entries = gmmu.value("buffer_entries", number);
    let state_query_cycles = gmmu.value("state_query", cycles);
    let state_update_cycles = gmmu.value("state_update", cycles);
    let fault_overhead = gmmu.value("fault_overhead", quantity::time);
    let cpu_return = gmmu.value(
        "cpu_return",
        one_of("amounts a CPU request brings back", &returns),
    );
    let merges = [
        ("gpu", MergeScope::Gpu),
        ("partition", MergeScope::Partition),
        ("sm", MergeScope::Sm),
        ("none", MergeScope::Nothing),
    ];
    let merge = gmmu.value(
        "merge",
        one_of("scopes in which requests share a migration", &merges),
    );
    let stalls = [
        ("requester", StallScope::Requester),
        ("sm", StallScope::Sm),
        ("gpu", StallScope::Gpu),
    ];
    let stall = gmmu.optional(
        "stall",
        one_of("scopes that a waiting request stops", &stalls),
    );
    let concurrent_migrations = gmmu.optional("concurrent_migrations", number);
    let eviction = gmmu.optional("eviction", registered(EVICTION_POLICIES, &EVICTIONS));
    let transactions = read_transactions(&mut gmmu);
    let moments = [
        ("at-request", Validity::AtRequest),
        ("at-arrival", Validity::AtArrival),
    ];
    let validity = gmmu.optional(
        "validity",
        one_of("moments at which ranges become valid", &moments),
    );
    let after_full = [
        ("moves", AfterFullBuffer::Moves),
        ("looks-up-again", AfterFullBuffer::LooksUpAgain),
    ];
    let after_full_buffer = gmmu.optional(
        "after_full_buffer",
        one_of("ways to go on after a full buffer", &after_full),
    );
    Some(GmmuSpec {
        buffer_entries: buffer_entries?,
        state_query_cycles: state_query_cycles?,
        state_update_cycles: state_update_cycles?,
        fault_overhead: fault_overhead?,
        cpu_return: cpu_return?,
        merge: merge?,
        stall: stall?.unwrap_or_default(),
        concurrent_migrations: concurrent_migrations?,
        eviction: eviction?.unwrap_or(&LeastRecentlyUsed::ENTRY),
        transactions: transactions?,
        validity: validity?.unwrap_or_default(),
        after_full_buffer: after_full_buffer?.unwrap_or_default(),
    })
}

/// `[gmmu.transactions]`, if a migration goes as a chain of them.
fn read_transactions(gmmu: &mut SourcedSection<'_>) -> Option<Option<TransactionChain>> {
    if !gmmu.contains("transactions") {
        return Some(None);
    }
    let mut chain = gmmu.section("transactions")?;
    let bytes = chain.value("bytes", bytes);
    let round_trip = chain.value("round_trip", quantity::time);
    let in_flight = chain.value("in_flight", number);
    let units_in_flight = chain.optional("units_in_flight", number);
    Some(Some(TransactionChain {
        bytes: bytes?,
        round_trip: round_trip?,
        in_flight: in_flight?,
        units_in_flight: units_in_flight?.unwrap_or(1),
    }))
}

/// `[host]`.
struct Host {
    launch_overhead: Picos,
    placement: Placement,
    reads: HostReads,
    copies: HostCopies,
}

fn read_host(mut host: SourcedSection<'_>) -> Option<Host> {
    let placements = [
        ("own-page", Placement::OwnPage),
        ("packed", Placement::Packed),
    ];
    let reads = [
        ("nothing", HostReads::Nothing),
        ("everything", HostReads::Everything),
    ];
    let launch_overhead = host.value("launch_overhead", quantity::time);
    let placement = host.optional(
        "placement",
        one_of("placements of allocations", &placements),
    );
    let reads = host.optional(
        "reads_between_launches",
        one_of("amounts the CPU reads", &reads),
    );
    let amounts = [
        ("inputs", HostCopies::Inputs),
        ("everything", HostCopies::Everything),
    ];
    let copies = host.optional(
        "programmer_copies",
        one_of("amounts a programmer copies", &amounts),
    );
    Some(Host {
        launch_overhead: launch_overhead?,
        placement: placement?.unwrap_or_default(),
        reads: reads?.unwrap_or_default(),
        copies: copies?.unwrap_or_default(),
    })
}
