//! Huge pages of the kernel's hugetlb stock.

mod file;
mod size;
mod stock;

pub use file::{Holders, HugeFile};
pub use size::HugeSize;
pub use stock::{Reserve, Stock};
