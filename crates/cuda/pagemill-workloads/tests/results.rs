//! Every program at small and awkward sizes, executed without timing: its own check compares every value with its reference.

#[path = "../../pagemill-sim/tests/common/gtx480.rs"]
mod gtx480;

use gtx480::gtx480;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_sim::{Executor, Host, Options, TransferMode};
use pagemill_types::PageSize;
use pagemill_workloads::{Checked, WORKLOADS, WorkloadInfo};

/// Sizes below a warp, off by one, with nothing to do, and large enough to fill several blocks.
const SIZES: &[(&str, &[(&str, u64)])] = &[
    ("vector-add", &[("elements", 1)]),
    ("vector-add", &[("elements", 1025), ("seed", 9)]),
    ("aes", &[("bytes", 1)]),
    ("aes", &[("bytes", 5000), ("seed", 5)]),
    ("bfs", &[("nodes", 1), ("degree", 0)]),
    ("bfs", &[("nodes", 300), ("degree", 0)]),
    ("bfs", &[("nodes", 257), ("degree", 2), ("seed", 3)]),
    ("bfs", &[("nodes", 3000)]),
    ("cp", &[("atoms", 1), ("width", 32), ("height", 8)]),
    (
        "cp",
        &[("atoms", 300), ("width", 64), ("height", 16), ("seed", 4)],
    ),
    ("laplace3d", &[("nx", 1), ("ny", 1), ("nz", 1)]),
    (
        "laplace3d",
        &[("nx", 33), ("ny", 5), ("nz", 2), ("iterations", 2)],
    ),
    (
        "laplace3d",
        &[
            ("nx", 70),
            ("ny", 9),
            ("nz", 7),
            ("iterations", 3),
            ("seed", 2),
        ],
    ),
    ("lib", &[("paths", 1)]),
    ("lib", &[("paths", 65), ("seed", 77)]),
    (
        "mum",
        &[
            ("genome_bases", 1),
            ("queries", 2),
            ("query_length", 1),
            ("minimum_match", 1),
        ],
    ),
    (
        "mum",
        &[
            ("genome_bases", 50),
            ("queries", 300),
            ("query_length", 32),
            ("minimum_match", 1),
        ],
    ),
    (
        "mum",
        &[("genome_bases", 5000), ("queries", 700), ("seed", 8)],
    ),
    ("nn", &[("digits", 1)]),
    ("nn", &[("digits", 3), ("seed", 77)]),
    (
        "ray",
        &[("width", 1), ("height", 1), ("spheres", 1), ("bounces", 0)],
    ),
    (
        "ray",
        &[
            ("width", 37),
            ("height", 21),
            ("spheres", 30),
            ("bounces", 64),
            ("seed", 6),
        ],
    ),
    ("pointer-chase", &[("footprint", 128), ("hops", 32)]),
    (
        "pointer-chase",
        &[("footprint", 128 * 1001), ("hops", 96), ("seed", 3)],
    ),
    ("streams", &[("elements", 32), ("threads", 32)]),
    (
        "streams",
        &[("elements", 1056), ("threads", 96), ("writes", 1)],
    ),
    (
        "streams",
        &[
            ("elements", 1024),
            ("reads", 0),
            ("writes", 1),
            ("shared", 64),
        ],
    ),
    (
        "streams",
        &[("elements", 1024), ("reads", 3), ("writes", 1), ("seed", 4)],
    ),
    (
        "line-reads",
        &[("lines", 1), ("blocks", 1), ("threads", 32)],
    ),
    (
        "line-reads",
        &[("lines", 1000), ("blocks", 3), ("threads", 96), ("seed", 2)],
    ),
    (
        "line-reads",
        &[("lines", 1000), ("access", 1), ("blocks", 5), ("seed", 3)],
    ),
    (
        "line-reads",
        &[("lines", 1000), ("access", 2), ("blocks", 5)],
    ),
    ("page-touch", &[("pages_log2", 0)]),
    ("page-touch", &[("pages_log2", 11), ("threads", 96)]),
    ("page-touch", &[("pages_log2", 11), ("scattered", 1)]),
    ("fdtd-2d", &[("size", 2), ("steps", 1)]),
    ("fdtd-2d", &[("size", 45), ("steps", 3), ("seed", 6)]),
    ("hotspot", &[("size", 1), ("launches", 1)]),
    ("hotspot", &[("size", 31), ("launches", 3), ("seed", 6)]),
    ("matrix-product", &[("size", 128)]),
    (
        "matrix-product",
        &[("size", 384), ("depth", 24), ("columns", 64), ("seed", 5)],
    ),
    ("sto", &[("file_bytes", 4), ("window_bytes", 4)]),
    ("sto", &[("file_bytes", 1040), ("window_bytes", 52)]),
    (
        "sto",
        &[
            ("file_bytes", 1040),
            ("window_bytes", 56),
            ("step_bytes", 8),
            ("seed", 2),
        ],
    ),
    (
        "sto",
        &[
            ("file_bytes", 6400),
            ("window_bytes", 4096),
            ("step_bytes", 64),
        ],
    ),
    (
        "sto",
        &[("file_bytes", 640), ("window_bytes", 4), ("step_bytes", 64)],
    ),
    (
        "wp",
        &[
            ("west_east", 1),
            ("south_north", 1),
            ("levels", 1),
            ("steps", 1),
        ],
    ),
    (
        "wp",
        &[
            ("west_east", 13),
            ("south_north", 9),
            ("levels", 28),
            ("steps", 3),
            ("seed", 9),
        ],
    ),
    (
        "wp",
        &[
            ("west_east", 5),
            ("south_north", 3),
            ("levels", 200),
            ("steps", 2),
            ("host_dynamics", 1),
        ],
    ),
];

fn run(info: &'static WorkloadInfo, settings: &[(&str, u64)], workers: usize) -> Checked {
    let mut values = info.defaults();
    for &(parameter, value) in settings {
        values
            .set(parameter, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let workload = info
        .build(&values)
        .unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        timing: false,
        workers,
        ..Options::default()
    };
    let mut host =
        Host::new(&gtx480(), TransferMode::IdealOverlap, options).expect("a sound machine");
    let checked = workload
        .run(&mut host)
        .unwrap_or_else(|error| panic!("{} {settings:?}: {error}", info.name));
    assert_eq!(
        host.finish().allocated_bytes,
        workload.footprint_bytes(),
        "{} {settings:?}",
        info.name
    );
    checked
}

#[test]
fn every_program_computes_what_its_reference_says() {
    for &(name, settings) in SIZES {
        let info = WORKLOADS.find(name).expect("registered");
        let checked = run(info, settings, 1);
        assert_eq!(run(info, settings, 3), checked, "{name} {settings:?}");
        assert!(
            checked.values > 0 && checked.largest_error <= checked.tolerance,
            "{name} {settings:?}: {checked:?}"
        );
    }
}

/// Everything that a timed run of the program under page migration reports.
fn timed_report(
    info: &'static WorkloadInfo,
    settings: &[(&str, u64)],
    executor: Executor,
) -> String {
    let mut values = info.defaults();
    for &(parameter, value) in settings {
        let set = values.set(parameter, value);
        set.unwrap_or_else(|error| panic!("{error}"));
    }
    let workload = info.build(&values);
    let workload = workload.unwrap_or_else(|error| panic!("{error}"));
    let policy = POLICIES.find("multi-range").expect("it is registered");
    let spec = MigrationSpec::new(PageSize::KIB_4, policy);
    let mode = TransferMode::Migrate(spec);
    let host = Host::new(&gtx480(), mode, Options::default());
    let mut host = host.expect("a sound machine");
    host.gpu.set_executor(executor);
    let checked = workload.run(&mut host);
    checked.unwrap_or_else(|error| panic!("{} {settings:?}: {error}", info.name));
    format!("{:#?}", host.finish())
}

#[test]
fn compiled_kernels_take_the_same_time() {
    for &(name, settings) in SIZES {
        let info = WORKLOADS.find(name).expect("registered");
        let report = |executor| timed_report(info, settings, executor);
        let (wanted, found) = (report(Executor::Interpreter), report(Executor::Compiled));
        for (wanted, found) in wanted.lines().zip(found.lines()) {
            assert_eq!(found, wanted, "{name} {settings:?}");
        }
        assert_eq!(found.len(), wanted.len(), "{name} {settings:?}");
    }
}

#[test]
fn no_program_is_left_out() {
    for info in &WORKLOADS {
        assert!(
            SIZES.iter().any(|(name, _)| *name == info.name),
            "{} has no sizes here",
            info.name
        );
    }
}

#[test]
fn reading_results_back_changes_no_result() {
    for &(name, settings) in SIZES {
        let settings = [settings, &[("read_results", 1)]].concat();
        run(WORKLOADS.find(name).expect("registered"), &settings, 1);
    }
}
