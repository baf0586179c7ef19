//! Asks the caches of the host for what a run reads soon: the resident warps of a machine are more than they hold.

/// Resident warps whose state a core's caches hold, with a few hundred bytes in use of each.
pub const WARPS_HELD: usize = 2048;

/// Bytes that a cache of the host brings at once.
const LINE_BYTES: usize = 64;

/// Begins to bring `value` near. Changes nothing but the time that its next use takes.
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "a prefetch is an instruction of the processor; the crate has no other"
)]
pub fn warm<T: ?Sized>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value)).step_by(LINE_BYTES) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, which reads no memory as far as a program can see, wherever it points.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (first, offset);
    }
}
