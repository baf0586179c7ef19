//! What tests of several crates share: contracts that every implementation of an interface has to keep,
//! reference models that are too plain to be wrong, and a world for daemons to be simulated in. Only ever a dev-dependency.
#![forbid(unsafe_code)]

pub mod bench;
mod c_program;
pub mod fake_cuda;
mod full;
pub mod looker;
pub mod memory_programs;
pub mod migration;
pub mod real_programs;
pub mod simulated;
mod skip;
pub mod translation;

pub use c_program::{CProgram, Conversation};
pub use full::few_or_many;
pub use migration::{ContractReport, migration_policy_contract};
pub use skip::skip;
pub use translation::translation_organization_contract;
