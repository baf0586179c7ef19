//! CPU time and rate of faults, by order and kind of data. `validation/pager/README.md` has the limits beside them.

use pagemill_pager::Config;
use pagemill_pager::probe::{DataKind, FaultRun, Order, Touch, loopback, store_costs};
use pagemill_pager::store::Compressed;

const BYTES: u64 = 256 << 20;

/// Units of a large call to a store.
const CALL_UNITS: f64 = 64.0;

fn main() {
    let filter: Vec<String> = (std::env::args().skip(1))
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    for data in DataKind::ALL {
        for (order, order_name) in [(Order::Random, "random"), (Order::Ascending, "ascending")] {
            for (touch, touch_name) in [(Touch::Read, "read"), (Touch::Write, "write")] {
                for (in_thread, thread) in [(false, ""), (true, "-in-thread")] {
                    let name = format!("pager-{order_name}-{touch_name}-{}{thread}", data.name());
                    if filter.is_empty() || filter.iter().any(|part| name.contains(part)) {
                        measure(&name, data, order, touch, in_thread);
                    }
                }
            }
        }
        let name = format!("pager-server-{}", data.name());
        if filter.is_empty() || filter.iter().any(|part| name.contains(part)) {
            measure_server(&name, data);
        }
    }
}

/// A page server over loopback, in elapsed time.
fn measure_server(name: &str, data: DataKind) {
    let costs = loopback().map_err(|error| error.to_string());
    let costs =
        costs.and_then(|store| store_costs(&store, data).map_err(|error| error.to_string()));
    let costs = match costs {
        Ok(costs) => costs,
        Err(error) => return println!("{name}: {error}"),
    };
    for (way, batch) in [("get", costs.get), ("put", costs.put)] {
        let call_ns = batch.call_ns + CALL_UNITS * batch.unit_ns;
        let rate = CALL_UNITS * 4096.0 * 1e9 / call_ns;
        println!(
            "pagemill-bench {name}-{way}-one {:.0} ns",
            batch.call_ns + batch.unit_ns
        );
        println!("pagemill-bench {name}-{way}-rate {rate:.0} bytes/s");
    }
}

fn measure(name: &str, data: DataKind, order: Order, touch: Touch, in_thread: bool) {
    let touches = BYTES / 4096;
    let run = FaultRun {
        bytes: BYTES,
        data: Some(data),
        order,
        touch,
        touches,
    };
    let mut config = Config::new(BYTES / 4);
    config.in_thread = in_thread;
    let runs = (0..3).map(|_| run.cost(&config, Box::new(Compressed::new(u64::MAX))));
    let Ok(costs) = runs.collect::<Result<Vec<_>, _>>() else {
        return println!("{name}: this user may not answer page faults");
    };
    let least = |of: &dyn Fn(&pagemill_pager::probe::FaultCost) -> f64| {
        costs.iter().map(of).fold(f64::INFINITY, f64::min)
    };
    let per_unit = least(&|cost| cost.cpu_ns as f64 / cost.units as f64);
    let per_fault = least(&|cost| cost.cpu_ns as f64 / cost.faults as f64);
    let elapsed = least(&|cost| cost.time_ns as f64 / (cost.units * 4096) as f64);
    println!("pagemill-bench {name}-cpu-unit {per_unit:.0} ns");
    println!("pagemill-bench {name}-cpu-fault {per_fault:.0} ns");
    println!("pagemill-bench {name}-rate {:.0} bytes/s", 1e9 / elapsed);
}
