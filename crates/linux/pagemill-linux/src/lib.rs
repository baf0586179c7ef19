//! The one port to the operating system: everything that the real backends ask of Linux.
//!
//! * [`hugetlb`]: files of huge pages, the kernel's stock of them, and proof of who holds a file.
//! * [`Mapping`]: memory mapped into this process.
//! * [`channel`]: Unix sockets that carry messages, descriptors and credentials.
//! * [`messages`]: protocols over such sockets; [`server`]: what serves them; [`stop`]: the end of a daemon's loop;
//!   [`prometheus`]: its counters as text.
//! * [`process`]: other processes; [`children`]: programs that end with this one; [`relay`]: signals that go to them; [`scratch`]:
//!   folders that end with this process.
//! * [`pagemap`]: which frame a page is mapped to.
//! * [`library`]: where the libraries are that the command gives to other programs.
//! * [`transparent`]: huge pages that the kernel uses by itself.
//! * [`clock`]: cycles and CPU time.
//! * [`userfault`]: page faults that this process answers itself.
//! * [`write_protection`]: writes that wait while memory is replaced.
//! * [`resctrl`]: caches that hardware divides among tasks.
//! * [`color_module`]: the kernel module that hands out pages of chosen colors.
//! * [`zero_module`]: the kernel module that hands out clean huge pages; [`series`]: the kernels that both are written for.
//!
//! Unsafe code is confined to the calls that have no safe form; each block says why it is sound.

pub mod channel;
pub mod children;
pub mod clock;
pub mod color_module;
mod error;
pub mod hugetlb;
pub mod library;
mod mapping;
pub mod messages;
pub mod pagemap;
pub mod process;
pub mod prometheus;
pub mod relay;
pub mod resctrl;
pub mod scratch;
pub mod series;
pub mod server;
pub mod stop;
pub mod transparent;
pub mod userfault;
pub mod write_protection;
pub mod zero_module;

pub use error::{OsError, Result};
pub use mapping::{Backing, Mapping, SharedWords, memory_file};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
