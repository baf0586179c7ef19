//! Translation: a cache too plain to be wrong, and the contract of every organization.

mod contract;
mod model;

pub use contract::translation_organization_contract;
pub use model::ModelCache;
