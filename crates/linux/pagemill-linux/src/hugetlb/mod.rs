//! Huge pages of the kernel's hugetlb stock.

mod file;
mod reserve;
mod size;
mod stock;

pub use file::{Holders, HugeFile};
pub use reserve::Reserve;
pub use size::HugeSize;
pub use stock::Stock;
