//! The GPU of `machines/a100-pcie4-x86.toml`, for crates whose tests cannot read it: a test of `pagemill-scenario` holds both equal.

use pagemill_policy::residency::DriverPolicy;
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

use pagemill_pages::managers::{DriverCosts, DriverMachine, FaultOrder, FaultSpec};
use pagemill_pages::parts::link::{LinkSpec, ReadSpec};
use pagemill_pages::parts::translation::TranslationSpec;
use pagemill_pages::patterns::{UvmMachine, UvmMemory, UvmSm};

fn megabytes_per_second(count: u64) -> Bandwidth {
    Bandwidth::new(count * 1_000_000).expect("a positive bandwidth")
}

/// The A100 behind PCI Express 4.0 of Garg 2021.
pub fn a100_pcie4_x86() -> UvmMachine {
    let ns = Picos::from_nanos;
    UvmMachine {
        name: "a100-pcie4-x86".to_owned(),
        sm: UvmSm {
            count: 108,
            clock: Clock::new(1_410_000_000).expect("a positive frequency"),
            max_threads: 2048,
            max_blocks: 32,
            iteration: ns(30),
            unrolled_reads: 4,
        },
        memory: UvmMemory {
            bytes: 40 << 30,
            reserved_bytes: 128 << 20,
            bandwidth: megabytes_per_second(1_539_000),
            latency: ns(365),
        },
        link: LinkSpec {
            to_gpu: megabytes_per_second(31_500),
            to_cpu: megabytes_per_second(31_500),
            latency: ns(900),
            payload_bytes: 128,
            header_bytes: 26,
            reads: Some(ReadSpec {
                latency: ns(1200),
                packet_bytes: 128,
                outstanding: 768,
            }),
        },
        translation: TranslationSpec {
            sms_per_utlb: 2,
            utlb_entries: 16,
            l2_entries: 32768,
            l2_ways: 16,
            l2_latency: ns(27),
            concurrent_walks: 16,
            walk_latency: ns(600),
            local_page: PageSize::MIB_2,
            remote_page: PageSize::KIB_4,
            looks_up_local: true,
        },
        driver: DriverMachine {
            faults: FaultSpec {
                utlb_outstanding: 56,
                batch_entries: 256,
                interrupt_latency: ns(1000),
                order: FaultOrder::Arrival,
            },
            costs: DriverCosts {
                batch: ns(1500),
                entry: ns(150),
                block: ns(5000),
                chunk: ns(33_000),
                queue: ns(1950),
                first_batch: ns(125_000),
                host_fault: ns(36_000),
                host_page_unmap: ns(215),
                host_page_populate: Picos::ZERO,
                eviction: ns(90_000),
                copy: ns(830),
                eviction_waits: true,
                replay: ns(1500),
            },
            policy: DriverPolicy::default(),
        },
    }
}
