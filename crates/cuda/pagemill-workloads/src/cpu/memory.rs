use pagemill_pages::shared_cache::Reference;
use pagemill_types::VirtAddr;

/// Takes note of accesses.
#[derive(Debug, Default)]
pub struct Recorder {
    pub references: Vec<Reference>,
}

/// Deals addresses to arrays.
#[derive(Debug)]
pub struct Layout {
    next: u64,
}

/// Where arrays begin: on a page of any size, with room between them as after large allocations.
const BASE: u64 = 1 << 32;
const ALIGNMENT: u64 = 1 << 12;

/// An array whose accesses are recorded. An element lies on one line, or its first line stands for it.
#[derive(Debug)]
pub struct Array<T> {
    base: u64,
    values: Vec<T>,
}

impl Layout {
    pub fn new() -> Self {
        Self { next: BASE }
    }

    /// `values` at addresses of their own.
    pub fn array<T: Copy>(&mut self, values: Vec<T>) -> Array<T> {
        let base = self.next;
        self.next =
            (base + size_of_val(values.as_slice()) as u64).next_multiple_of(ALIGNMENT) + ALIGNMENT;
        Array { base, values }
    }
}

impl<T: Copy> Array<T> {
    /// Reads an element; the program goes on meanwhile.
    #[inline]
    pub fn get(&self, index: usize, memory: &mut Recorder) -> T {
        self.note(index, false, false, memory);
        self.values[index]
    }

    /// Reads an element that the next step depends on.
    #[inline]
    pub fn follow(&self, index: usize, memory: &mut Recorder) -> T {
        self.note(index, false, true, memory);
        self.values[index]
    }

    /// Writes an element.
    #[inline]
    pub fn set(&mut self, index: usize, value: T, memory: &mut Recorder) {
        self.note(index, true, false, memory);
        self.values[index] = value;
    }

    /// Changes an element: one write, of a line that was read just before.
    #[inline]
    pub fn update(&mut self, index: usize, memory: &mut Recorder, change: impl FnOnce(&mut T)) {
        self.note(index, true, false, memory);
        change(&mut self.values[index]);
    }

    /// Writes an element that the write before covered: one vector, one access.
    #[inline]
    pub fn set_beside(&mut self, index: usize, value: T) {
        self.values[index] = value;
    }

    /// Reads `count` elements as one vector.
    #[inline]
    pub fn slice(&self, first: usize, count: usize, memory: &mut Recorder) -> &[T] {
        self.note(first, false, false, memory);
        &self.values[first..first + count]
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The elements, unrecorded.
    #[cfg(test)]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    #[inline]
    fn note(&self, index: usize, is_write: bool, waits: bool, memory: &mut Recorder) {
        memory.references.push(Reference {
            address: VirtAddr(self.base + (index * size_of::<T>()) as u64),
            is_write,
            waits,
        });
    }
}
