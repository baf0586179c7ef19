//! The part of a block's shared memory that is reserved for the system: cooperative groups keep the barriers of tiles
//! of several warps there.
//!
//! It lies behind the block's own memory, and only where a kernel names it.

use crate::code::Constant;

/// Its bytes, of compute capability 8.0 and later: CUDA C++ Programming Guide.
pub const RESERVED_BYTES: u16 = 1 << 10;
/// Where in it the part of `%reserved_smem_offset_1` begins, which has room for the 288 bytes of cooperative groups.
pub const SECOND_PART: u16 = RESERVED_BYTES / 2;

/// Its offset in shared memory behind `own` bytes.
pub fn start(own: u32) -> u32 {
    own.next_multiple_of(128)
}

/// Bytes of shared memory that a block with `own` can reach, whose kernel has these constants.
pub fn window(own: u32, constants: &[Constant]) -> u32 {
    let names_it = |constant: &Constant| matches!(constant, Constant::ReservedShared(_));
    match constants.iter().any(names_it) {
        true => start(own) + u32::from(RESERVED_BYTES),
        false => own,
    }
}
