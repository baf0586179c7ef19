//! Which functions there are, in which version of the library, and which of them do something.

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

/// A library as programs look for it: a shim without logic. `libpagemill_cudart.so` has to lie beside it.
#[derive(Clone, Copy, Debug)]
pub struct Shim {
    /// The name that programs were linked with, such as `libcudart.so.13`.
    pub file_name: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

/// The file name of this crate's own library, which the shims need beside them.
pub const LIBRARY: &str = "libpagemill_cudart.so";

/// The shims for every version.
pub const SHIMS: [Shim; 2] = [
    Shim {
        file_name: "libcudart.so.12",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.12")),
    },
    Shim {
        file_name: "libcudart.so.13",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libcudart.so.13")),
    },
];

/// Every function, sorted by name.
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
