//! Unchanged programs under the library.

mod meaning;
mod pool;
mod programs;
mod real;
