//! Memory by address alone, as programs use it.

use std::ops::Range;
use std::os::fd::AsFd;

/// Bytes of paged or plain memory that no reference leads to.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    start: u64,
    bytes: u64,
}

impl Memory {
    pub fn new(range: Range<u64>) -> Self {
        Self {
            start: range.start,
            bytes: range.end - range.start,
        }
    }

    pub fn part(&self, range: Range<u64>) -> Self {
        assert!(range.end <= self.bytes);
        Self::new(self.start + range.start..self.start + range.end)
    }

    pub fn address(&self) -> u64 {
        self.start
    }

    pub fn read(&self, at: u64) -> u8 {
        assert!(at < self.bytes);
        // SAFETY: within memory that the test holds, to which there is no reference.
        unsafe { ((self.start + at) as *const u8).read_volatile() }
    }

    pub fn write(&self, at: u64, byte: u8) {
        assert!(at < self.bytes);
        // SAFETY: within memory that the test holds; writes of threads to the same byte are volatile.
        unsafe { ((self.start + at) as *mut u8).write_volatile(byte) }
    }

    /// All bytes, through a pipe: the kernel reads the memory.
    pub fn read_by_kernel(&self, at: u64, bytes: usize) -> Vec<u8> {
        assert!(at + bytes as u64 <= self.bytes && bytes <= 60_000);
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        // SAFETY: within memory that the test holds; the slice lives for one system call, during which no test writes there.
        let memory = unsafe { std::slice::from_raw_parts((self.start + at) as *const u8, bytes) };
        assert_eq!(rustix::io::write(writer.as_fd(), memory), Ok(bytes));
        let mut copy = vec![0; bytes];
        assert_eq!(rustix::io::read(reader.as_fd(), &mut copy), Ok(bytes));
        copy
    }
}
