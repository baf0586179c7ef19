//! What files become, and what is said of wrong ones.

mod cuda;
#[path = "errors/main.rs"]
mod errors;
mod loading;
mod machine_errors;
mod nic;
mod one_error;
