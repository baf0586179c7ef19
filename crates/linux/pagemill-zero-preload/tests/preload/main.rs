//! Unchanged programs under the library.

mod again;
mod meaning;
mod pool;
mod programs;
mod real;
mod servers;
mod sources;
