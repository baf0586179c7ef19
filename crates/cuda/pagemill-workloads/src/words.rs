//! Typed views of device bytes. The GPU is little-endian whatever the host is.

/// A value that device memory can hold.
pub(crate) trait Word: Copy {
    /// Size in bytes.
    const BYTES: usize;
    /// From exactly [`Self::BYTES`] bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Into exactly [`Self::BYTES`] bytes.
    fn store(self, bytes: &mut [u8]);
}

macro_rules! word {
    ($($ty:ty),*) => {$(
        impl Word for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn load(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the caller cuts exactly one word"))
            }
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

word!(u8, u32, i32, f32, u64, f64);

/// The word at `index`.
pub(crate) fn get<T: Word>(bytes: &[u8], index: usize) -> T {
    T::load(&bytes[index * T::BYTES..][..T::BYTES])
}

/// Replaces the word at `index`.
pub(crate) fn set<T: Word>(bytes: &mut [u8], index: usize, value: T) {
    value.store(&mut bytes[index * T::BYTES..][..T::BYTES]);
}

/// Every word in order.
pub(crate) fn words<T: Word>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(T::BYTES).map(T::load)
}

/// Writes the word `value(i)` at every index `i`.
pub(crate) fn fill<T: Word>(bytes: &mut [u8], mut value: impl FnMut(u64) -> T) {
    for (index, chunk) in (0u64..).zip(bytes.chunks_exact_mut(T::BYTES)) {
        value(index).store(chunk);
    }
}
