//! Contract and reference model of page migration.

mod contract;
mod model;
mod small;

pub use contract::{ContractReport, migration_policy_contract};
pub use model::{Rule, UnitMap};
pub use small::{every_range, small_specs};
