//! `LD_PRELOAD` library: the `malloc` family of an unchanged program is mimalloc over colored memory.
//!
//! | file | what |
//! |---|---|
//! | `symbols.rs` | the functions that programs call, with glibc's promises |
//! | `source.rs` | where the allocator's memory comes from: a space of the module, or the kernel's usual pages |
//! | `calls.rs` | the program's own calls on that memory mean what they mean on any |
//! | `fork.rs` | no other thread is inside a lock of the allocator while a process is copied |
//!
//! | variable | meaning |
//! |---|---|
//! | `PAGEMILL_COLOR_TASK` | where the space is handed out: set by `pagemill color run`. Without it the module is asked for a space of all colors |
//! | `PAGEMILL_COLOR_PLAIN` | set here, for children, when there is no colored memory: the message was printed already |
//!
//! C++ programs need no symbols of their own: the C++ library's `operator new` and `operator delete` end in `malloc`, `aligned_alloc` and
//! `free`, with new-handlers, exceptions, and whichever of them a program has replaced.
//!
//! The build script has the linker lead the allocator's `mmap`, `madvise` and mutexes here (`--wrap`); the program's own are left alone.

mod calls;
mod fork;
mod source;
mod symbols;
