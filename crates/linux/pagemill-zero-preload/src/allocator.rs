//! Memory of this library itself, which may be called from inside of the program's allocator.

use pagemill_mapping::{Heap, KernelPages};

/// An allocator that maps memory with its locks held must not be entered again from there, and one that the program is linked with may
/// have the C library's own names, too, as tcmalloc does.
#[global_allocator]
pub static OWN: Heap<KernelPages> = Heap::new(KernelPages);
