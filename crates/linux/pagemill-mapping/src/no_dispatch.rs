//! Where the kernel delivers no calls by instructions: they are not seen.

use crate::jumps::Jump;
use crate::memory_calls::MemoryCalls;
use crate::next;

/// From now on, calls by the functions that are exported are seen.
///
/// # Errors
/// None.
pub fn begin(
    _calls: &'static dyn MemoryCalls,
    _lists: &[&'static [Jump]],
) -> Result<(), &'static str> {
    next::settle();
    Ok(())
}
