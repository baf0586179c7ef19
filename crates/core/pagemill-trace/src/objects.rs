//! Formats whose records are requests of objects, not addresses.

/// What a reference of such a format stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every object is one line of so many bytes: object n is at n times that, and of 1 byte. Sizes have no meaning for a
    /// cache of equal lines.
    Lines(u32),
    /// An object is what it is: its number as the address, and its size.
    Objects,
}

impl View {
    /// The address and the bytes of a reference to an object.
    #[inline]
    pub(crate) fn place(self, object: u64, bytes: u32) -> (u64, u32) {
        match self {
            Self::Lines(line_bytes) => (object.wrapping_mul(u64::from(line_bytes)), 1),
            Self::Objects => (object, bytes.max(1)),
        }
    }
}
