//! The built-in programs as scenarios run them.

mod parameters;
mod results;
