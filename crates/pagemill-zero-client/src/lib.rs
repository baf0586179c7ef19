//! Borrows clean huge pages from the pool.
#![forbid(unsafe_code)]
