//! Policies against models and contracts: a file for each kind of decision.

mod coloring;
mod coloring_module;
mod migration_contract;
mod migration_model;
mod migration_rules;
mod migration_sequences;
mod paging;
mod paging_trace;
mod residency_choices;
mod residency_driver;
mod residency_growth;
mod residency_host_tables;
mod residency_patterns;
mod routing;
mod surroundings;
mod translation;
mod translation_today;
#[path = "zeroing/main.rs"]
mod zeroing;
