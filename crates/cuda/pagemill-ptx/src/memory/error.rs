//! Why device memory refuses, with the allocation nearest to the address.

use std::fmt;

/// Why device memory refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No allocation holds the range.
    #[error("{bytes} bytes at {address:#x} are not allocated; {near}")]
    Unmapped {
        /// First address asked for.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
        /// What lies nearest.
        near: Nearest,
    },
    /// The address range of a new allocation is taken or outside the address space.
    #[error("cannot allocate {bytes} bytes for {name:?} at {address:#x}: {reason}")]
    Refused {
        /// Name of the wanted allocation.
        name: String,
        /// Where it was wanted.
        address: u64,
        /// Bytes wanted.
        bytes: u64,
        /// What is in the way.
        reason: &'static str,
    },
    /// `free` of an address that no allocation starts at.
    #[error("no allocation starts at {address:#x}; {near}")]
    NotAnAllocation {
        /// The address.
        address: u64,
        /// What lies nearest.
        near: Nearest,
    },
}

/// The allocation nearest to an address, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Name and extent, or `None` when nothing was ever allocated.
    pub allocation: Option<NearAllocation>,
}

/// Name and extent of an allocation, live or freed, beside some address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearAllocation {
    /// Its name.
    pub name: String,
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether it has been freed.
    pub freed: bool,
    /// Whether it is memory of the CPU, and its name says which.
    pub on_cpu: bool,
    /// Bytes between it and the address: positive behind it, negative before it, `None` inside.
    pub distance: Option<i128>,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(near) = self.allocation.as_ref().filter(|near| near.on_cpu) {
            return write!(
                f,
                "it is CPU memory of the program ({}), which kernels cannot use: copy it to memory of cudaMalloc, or \
                 allocate it with cudaMallocManaged or cudaMallocHost",
                near.name
            );
        }
        let Some(near) = &self.allocation else {
            return write!(f, "nothing is allocated");
        };
        let freed = if near.freed { "freed " } else { "" };
        let NearAllocation {
            name,
            address,
            bytes,
            distance,
            ..
        } = near;
        let what = format!("{freed}allocation {name:?} ({bytes} bytes at {address:#x})");
        match distance {
            None => write!(f, "it is in {what}"),
            Some(0) => write!(f, "nearest is {what}, which ends right before"),
            Some(distance @ 1..) => {
                let before = count_of_bytes(*distance);
                write!(f, "nearest is {what}, which ends {before} before")
            }
            Some(distance) => {
                let after = count_of_bytes(-distance);
                write!(f, "nearest is {what}, which starts {after} after")
            }
        }
    }
}

fn count_of_bytes(count: i128) -> String {
    let unit = if count == 1 { "byte" } else { "bytes" };
    format!("{count} {unit}")
}
