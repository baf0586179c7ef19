//! Where lanes of a warp stand.

/// Where lanes that left the current path wait. Compiled code knows its layout.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Path {
    pub pc: u32,
    pub mask: u32,
    /// Where this path ends and the one below it on the stack goes on.
    pub reconverge: u32,
}
