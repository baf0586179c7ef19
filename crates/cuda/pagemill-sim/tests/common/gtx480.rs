//! The GPU of `machines/gtx480.toml`, for crates whose tests cannot read it: a test of `pagemill-scenario` holds both equal.

use pagemill_pages::parts::cache::CacheSpec;
use pagemill_pages::parts::dram::DramSpec;
use pagemill_pages::parts::link::LinkSpec;
use pagemill_pages::parts::page_walk::WalkerSpec;
use pagemill_pages::parts::tlb::TlbSpec;
use pagemill_policy::residency::LeastRecentlyUsed;
use pagemill_sim::gpu::{
    AfterFullBuffer, CpuReturn, GmmuSpec, GpuMachine, HostCopies, HostReads, InstructionTiming,
    InstructionTimings, InterconnectSpec, IssueOrder, L1Loads, Memory, MergeScope, Placement,
    SmSpec, StallScope, TlbScope, Translation, Validity,
};
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

const fn timing(issue_cycles: u32, latency_cycles: u32) -> InstructionTiming {
    InstructionTiming {
        issue_cycles,
        latency_cycles,
    }
}

fn megahertz(count: u64) -> Clock {
    Clock::new(count * 1_000_000).expect("a positive frequency below 1 THz")
}

fn gigabytes_per_second(count: u64) -> Bandwidth {
    Bandwidth::new(count * 1_000_000_000).expect("a positive bandwidth")
}

/// The GPU of Zhang et al. 2019, table 1.
pub fn gtx480() -> GpuMachine {
    let link = gigabytes_per_second(16);
    GpuMachine {
        name: "gtx480".to_owned(),
        core_clock: megahertz(1400),
        l2_clock: megahertz(700),
        page: PageSize::MIB_2,
        sm: fermi(15),
        translation: Translation::OneLevel {
            tlb: tlb(),
            scope: TlbScope::PerSm,
            walker: walker(),
        },
        l1: l1(),
        l2: l2(),
        l2_kept_copy_bytes: 0,
        l2_far_cycles: 0,
        l2_dirty_ways: u32::MAX,
        l2_fetch_bytes: None,
        interconnect: InterconnectSpec {
            sm_stores: None,
            latency_cycles: 30,
            bytes_per_cycle: 32,
            sm_bytes_per_cycle: 32,
            store_bytes_per_cycle: None,
            answer_cycles: None,
        },
        memory: Memory::Channels {
            dram: dram(),
            partition_bytes: 256,
            partition_hash: true,
        },
        link: LinkSpec {
            to_gpu: link,
            to_cpu: link,
            latency: Picos::from_nanos(500),
            payload_bytes: 0,
            header_bytes: 0,
            reads: None,
        },
        gmmu: gmmu(),
        driver: None,
        patterns: None,
        memory_bytes: None,
        reserved_bytes: 0,
        launch_overhead: Picos::ZERO,
        placement: Placement::OwnPage,
        host_reads: HostReads::Nothing,
        host_copies: HostCopies::Inputs,
    }
}

fn tlb() -> TlbSpec {
    TlbSpec {
        entries: 128,
        ways: 128,
        ports: 4,
        hit_latency_cycles: 2,
        retry_cycles: 0,
    }
}

fn walker() -> WalkerSpec {
    WalkerSpec {
        concurrent_walks: 32,
        level_latency_cycles: 100,
        address_bits: 48,
        level_bits: 9,
    }
}

fn l1() -> CacheSpec {
    CacheSpec {
        bytes: 16 << 10,
        line_bytes: 128,
        ways: 4,
        hit_latency_cycles: 60,
        mshr_entries: 32,
        hashed_sets: true,
    }
}

fn l2() -> CacheSpec {
    CacheSpec {
        bytes: 128 << 10,
        line_bytes: 128,
        ways: 8,
        hit_latency_cycles: 40,
        mshr_entries: 32,
        hashed_sets: false,
    }
}

fn dram() -> DramSpec {
    DramSpec {
        clock: megahertz(1024),
        bandwidth: gigabytes_per_second(384),
        channels: 12,
        banks: 16,
        row_bytes: 2048,
        column_cycles: 12,
        activate_cycles: 12,
        precharge_cycles: 12,
        row_cycle_cycles: 40,
    }
}

fn gmmu() -> GmmuSpec {
    GmmuSpec {
        buffer_entries: 128,
        state_query_cycles: 10,
        state_update_cycles: 10,
        fault_overhead: Picos::ZERO,
        cpu_return: CpuReturn::Valid,
        merge: MergeScope::Gpu,
        stall: StallScope::Requester,
        concurrent_migrations: None,
        eviction: &LeastRecentlyUsed::ENTRY,
        transactions: None,
        validity: Validity::AtRequest,
        after_full_buffer: AfterFullBuffer::Moves,
    }
}

/// `count` SMs of compute capability 2.0.
fn fermi(count: u32) -> SmSpec {
    SmSpec {
        wide_sectors_per_cycle: None,
        queues_accesses: false,
        count,
        compute_capability: 20,
        schedulers: 2,
        max_threads: 1536,
        max_warps: 48,
        max_blocks: 8,
        max_threads_per_block: 1024,
        registers: 32768,
        register_unit: 64,
        max_registers_per_thread: 63,
        shared_bytes: 48 << 10,
        shared_unit: 128,
        timings: InstructionTimings {
            integer: timing(2, 18),
            integer_multiply: timing(4, 20),
            float32: timing(2, 18),
            float64: timing(16, 32),
            special: timing(16, 40),
            convert: timing(4, 20),
            shared: timing(4, 36),
            constant: timing(2, 18),
            memory: timing(2, 2),
            control: timing(2, 18),
            machine_code: None,
        },
        segment_cycles: 2,
        shared_replay_cycles: 2,
        block_start_cycles: 50,
        block_interval: Picos::ZERO,
        l1_loads: L1Loads::All,
        atomics: None,
        issue_order: IssueOrder::AsWritten,
    }
}
