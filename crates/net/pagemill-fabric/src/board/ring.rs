//! A ring of 64-bit words with one writer and one reader, which may be different processes.

use std::sync::atomic::{AtomicU64, Ordering};

const HEAD: usize = 0;
const TAIL: usize = 8;
const DATA: usize = 16;

/// Up to 8 bytes as one word.
pub fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Words between `head` and `tail`; never more than there are, whatever a broken process wrote there.
fn used(words: &[AtomicU64], head: u64, tail: u64) -> usize {
    let capacity = words.len() - DATA;
    usize::try_from(tail.wrapping_sub(head)).map_or(capacity, |used| used.min(capacity))
}

/// The writing end.
#[derive(Clone, Copy)]
pub struct Producer {
    words: &'static [AtomicU64],
}

impl Producer {
    pub(super) fn new(words: &'static [AtomicU64]) -> Self {
        Self { words }
    }

    /// Words that can be written now.
    pub fn room(&self) -> usize {
        let tail = self.words[TAIL].load(Ordering::Relaxed);
        let head = self.words[HEAD].load(Ordering::Acquire);
        self.words.len() - DATA - used(self.words, head, tail)
    }

    /// Writes all words, or none: `false` if there is no room.
    pub fn push(&self, words: &[u64]) -> bool {
        if self.room() < words.len() {
            return false;
        }
        let tail = self.words[TAIL].load(Ordering::Relaxed);
        for (index, word) in words.iter().enumerate() {
            self.slot(tail.wrapping_add(index as u64))
                .store(*word, Ordering::Relaxed);
        }
        self.words[TAIL].store(tail.wrapping_add(words.len() as u64), Ordering::Release);
        true
    }

    /// Writes as many of `bytes` as there is room for, in whole words but for the last; returns how many.
    pub fn push_bytes(&self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room() * 8);
        let tail = self.words[TAIL].load(Ordering::Relaxed);
        for (index, chunk) in bytes[..count].chunks(8).enumerate() {
            self.slot(tail.wrapping_add(index as u64))
                .store(word_of(chunk), Ordering::Relaxed);
        }
        let end = tail.wrapping_add(count.div_ceil(8) as u64);
        self.words[TAIL].store(end, Ordering::Release);
        count
    }

    fn slot(&self, position: u64) -> &AtomicU64 {
        let data = &self.words[DATA..];
        &data[(position % data.len() as u64) as usize]
    }
}

/// The reading end.
#[derive(Clone, Copy)]
pub struct Consumer {
    words: &'static [AtomicU64],
}

impl Consumer {
    pub(super) fn new(words: &'static [AtomicU64]) -> Self {
        Self { words }
    }

    /// Words that can be read now.
    pub fn available(&self) -> usize {
        let head = self.words[HEAD].load(Ordering::Relaxed);
        used(self.words, head, self.words[TAIL].load(Ordering::Acquire))
    }

    /// Whether at least half of the ring is full.
    pub fn is_half_full(&self) -> bool {
        self.available() * 2 >= self.words.len() - DATA
    }

    /// Fills `words`, or reads nothing: `false` if there are not that many yet.
    pub fn pop(&self, words: &mut [u64]) -> bool {
        if self.available() < words.len() {
            return false;
        }
        let head = self.words[HEAD].load(Ordering::Relaxed);
        for (index, word) in words.iter_mut().enumerate() {
            *word = self
                .slot(head.wrapping_add(index as u64))
                .load(Ordering::Relaxed);
        }
        self.words[HEAD].store(head.wrapping_add(words.len() as u64), Ordering::Release);
        true
    }

    /// Appends to `bytes` what is there, until it is `full` long. Of the last word, only what is missing is taken.
    pub fn pop_bytes(&self, bytes: &mut Vec<u8>, full: usize) {
        let missing = full - bytes.len();
        let words = missing.div_ceil(8).min(self.available());
        let head = self.words[HEAD].load(Ordering::Relaxed);
        for index in 0..words as u64 {
            let word = self
                .slot(head.wrapping_add(index))
                .load(Ordering::Relaxed)
                .to_le_bytes();
            let take = (full - bytes.len()).min(8);
            bytes.extend_from_slice(&word[..take]);
        }
        self.words[HEAD].store(head.wrapping_add(words as u64), Ordering::Release);
    }

    fn slot(&self, position: u64) -> &AtomicU64 {
        let data = &self.words[DATA..];
        &data[(position % data.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests;
