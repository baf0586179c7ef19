//! The benchmarks of the document, over the simulated interface.

use pagemill_sim::nic::NicMachine;
use pagemill_sim::nic::pattern::{AddressOrder, Addresses, BandwidthSpec, LatencySpec, Level};

fn same(bytes: u64) -> Addresses {
    Addresses::new(AddressOrder::Same, bytes, bytes, 1)
}

#[test]
fn show() {
    let machine = NicMachine::pni();
    for bytes in [
        0u64,
        8,
        64,
        128,
        129,
        1024,
        4096,
        16384,
        16385,
        65536,
        1 << 20,
        4 << 20,
    ] {
        let mut line = format!("{bytes:8}");
        for level in [Level::Rdma, Level::Mpi] {
            let latency = LatencySpec {
                level,
                bytes,
                iterations: 20,
                warmup: 4,
                source: same(bytes),
                target: same(bytes),
            };
            let (time, _) = latency.run(&machine).unwrap();
            line += &format!(" lat {:9.3} us", time.0 as f64 / 1e6);
            for both_ways in [false, true] {
                let spec = BandwidthSpec {
                    level,
                    both_ways,
                    bytes,
                    window: 64,
                    iterations: 4,
                    warmup: 2,
                    source: same(bytes),
                    target: same(bytes),
                };
                let (time, report) = spec.run(&machine).unwrap();
                line += &format!(
                    " bw {:7.3} GB/s ({})",
                    spec.counted_bytes() as f64 / time.0 as f64 * 1e3,
                    report.packets
                );
            }
        }
        println!("{line}");
    }
}
