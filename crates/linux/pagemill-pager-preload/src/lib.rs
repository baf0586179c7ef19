//! `LD_PRELOAD` library: large `malloc`s and anonymous mappings of an unchanged program are paged. `pagemill pager run` starts programs with it;
//! the variable `PAGEMILL_PAGER` holds a `pagemill_pager::Setup`. Without it, programs run as ever.
//!
//! `pagemill-mapping` keeps the meaning of every call on memory. Here are the source of memory (`paged.rs`), what the calls mean to a
//! pager (`calls.rs`), and the `malloc` family (`symbols.rs`).
//!
//! What this library and the C library allocate for themselves is never the program's allocator's (`allocator.rs`): a handler that touched
//! paged memory could wait for itself.

mod allocator;
mod callers;
mod calls;
mod descriptors;
mod kept;
mod paged;
mod proc_memory;
mod start;
mod symbols;
mod threads;
