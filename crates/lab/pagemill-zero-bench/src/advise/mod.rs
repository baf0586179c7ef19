//! Which kind of pages a program should run on: it is run on each kind that this machine allows.
//!
//! [`settings`](Setting) are what is compared, [`Machine`] says which of them are possible, [`judge`](compare) is the decision, a pure
//! function of the times, and [`Costs`](crate::Costs) split the kernel's time.

mod judge;
mod machine;
mod measure;
mod results;
mod setting;

pub use judge::{Advice, Standing, compare};
pub use machine::{Machine, PoolPlace};
pub use measure::{Failed, PoolUse, Program, Run, Tried, measure};
pub use results::result_set;
pub use setting::Setting;
