//! Which functions there are, in which version of the library, and which of them do something.

pub use pagemill_wire::{LIBRARY, START_LIBRARY, Shim};

/// One row of `api.txt`: a function that NVIDIA's library of some version exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The exported name.
    pub name: &'static str,
    /// The major versions of the library that export it with this meaning, such as `12,13`.
    pub versions: &'static str,
    /// The function of this crate that stands behind it; `None` where there is none.
    pub implementation: Option<&'static str>,
}

/// The file name of the driver's library.
pub const DRIVER_LIBRARY: &str = "libcuda.so.1";

/// The shims: the runtime and the linker in every version, the driver, its management library, cuDNN,
/// and the one that is loaded first.
pub const SHIMS: [Shim; 8] = [
    Shim {
        file_name: DRIVER_LIBRARY,
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcuda.so.1")),
    },
    Shim {
        file_name: "libnvidia-ml.so.1",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libnvidia-ml.so.1")),
    },
    Shim {
        file_name: START_LIBRARY,
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libpagemill_start.so")),
    },
    Shim {
        file_name: "libcudart.so.12",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.12")),
    },
    Shim {
        file_name: "libcudart.so.13",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.13")),
    },
    Shim {
        file_name: "libnvJitLink.so.12",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libnvJitLink.so.12")),
    },
    Shim {
        file_name: "libnvJitLink.so.13",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libnvJitLink.so.13")),
    },
    Shim {
        file_name: "libcudnn.so.9",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcudnn.so.9")),
    },
];

/// One row of `driver.txt`: a function of the driver API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverFunction {
    /// The exported name, such as `cuMemAlloc_v2`.
    pub symbol: &'static str,
    /// The name in programs, such as `cuMemAlloc`.
    pub base: &'static str,
    /// The first version of CUDA whose programs mean this one: 3020 is CUDA 3.2.
    pub since: i32,
    /// The function of this crate that stands behind it; `None` where there is none.
    pub implementation: Option<&'static str>,
}

/// Every function of the driver API, sorted by symbol and version. A symbol may stand for several versions.
pub fn driver_functions() -> impl Iterator<Item = DriverFunction> {
    include_str!("../driver.txt").lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let symbol = words.next().filter(|word| !word.starts_with('#'))?;
        let base = words.next()?;
        let since = words.next()?.parse().ok()?;
        let implementation = words.next().filter(|word| *word != "-");
        Some(DriverFunction {
            symbol,
            base,
            since,
            implementation,
        })
    })
}

/// Every function of the runtime API, sorted by name.
pub fn functions() -> impl Iterator<Item = Function> {
    include_str!("../api.txt").lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|word| !word.starts_with('#'))?;
        let versions = words.next()?;
        let implementation = words.next().filter(|word| *word != "-");
        Some(Function {
            name,
            versions,
            implementation,
        })
    })
}
