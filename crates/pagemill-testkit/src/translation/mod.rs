//! Translation: a cache too plain to be wrong, and the contract of every organisation.

mod contract;
mod model;

pub use contract::translation_organisation_contract;
pub use model::ModelCache;
