//! The executor as its users call it: a file or folder for each question.

mod compiled;
mod compiled_accesses;
mod conformance;
mod differential;
mod early_return;
mod instruction_classes;
mod issue_order;
mod memory_moves;
mod other_declaration;
mod random_programs;
mod robustness;
mod seen;
mod together;
