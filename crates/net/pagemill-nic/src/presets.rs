//! The machine of Guo et al. 2011, for tests and benchmarks; `machines/pni.toml` says where each value is from.

use pagemill_policy::translation::AttSpec;
use pagemill_types::{Bandwidth, Picos};

use super::machine::{
    DescriptorPath, EngineSpec, HostSpec, MessageSpec, NicMachine, PortSpec, TablePlace, TableSpec,
    WireSpec,
};

impl NicMachine {
    /// The on-chip interface with its table in main memory: the values of `machines/pni.toml`.
    pub fn pni() -> Self {
        Self {
            name: "pni".to_owned(),
            host: HostSpec {
                to_memory: rate(12_800_000_000),
                from_memory: rate(12_800_000_000),
                payload_bytes: 64,
                write_header_bytes: 0,
                completion_header_bytes: 0,
                read_request_bytes: 64,
                read_header_bytes: 0,
                read_window_bytes: 4096,
                pio_latency: Picos::from_nanos(20),
                read_latency: Picos::from_nanos(80),
                write_latency: Picos::from_nanos(60),
            },
            gpu_memory: None,
            ports: PortSpec {
                count: 4096,
                on_chip: 64,
            },
            engine: EngineSpec {
                descriptors: DescriptorPath::Pushed,
                descriptor_bytes: 64,
                completion_bytes: 16,
                mp_gap: Picos::from_nanos(100),
                rdma_gap: Picos::from_nanos(100),
                send_latency: Picos::from_nanos(330),
                receive_latency: Picos::from_nanos(330),
                translate_ahead: false,
                segment_bytes: 1024,
            },
            att: AttSpec::published(),
            table: TableSpec {
                place: TablePlace::MainMemory,
                lookup_latency: Picos::from_nanos(8),
                fetches_in_flight: 8,
                keys: None,
                iommu: None,
                paging: None,
            },
            wire: WireSpec {
                bandwidth: rate(8_000_000_000),
                payload_bytes: 256,
                header_bytes: 24,
                latency: Picos::from_nanos(100),
                hop_latency: Picos::from_nanos(100),
                hops: 1,
            },
            network: None,
            messages: MessageSpec {
                send_overhead: Picos::from_nanos(250),
                receive_overhead: Picos::from_nanos(250),
                rma_overhead: Picos::from_nanos(50),
                short_bytes: 128,
                eager_bytes: 16384,
                window_bytes: None,
                copy_bandwidth: rate(6_000_000_000),
                registration: None,
            },
        }
    }
}

fn rate(bytes_per_second: u64) -> Bandwidth {
    Bandwidth::new(bytes_per_second).expect("rates of presets are not zero")
}
