use std::collections::VecDeque;

/// When a transfer asks for the translations of its segments, where it does so ahead of its reads: some from the beginning, one more for
/// each read that it has asked for.
#[derive(Debug)]
pub(crate) struct Ahead<M> {
    began: M,
    /// Most segments that are asked for and not yet read.
    most: usize,
    latest: Option<M>,
    /// Reads that were asked for, and not yet followed by a translation.
    reads: VecDeque<M>,
    asked: usize,
}

impl<M: Copy> Ahead<M> {
    /// A transfer that begins at `began`, at least one segment ahead.
    pub fn new(began: M, most: u32) -> Self {
        Self {
            began,
            most: most.max(1) as usize,
            latest: None,
            reads: VecDeque::new(),
            asked: 0,
        }
    }

    /// When the translation of the next segment is asked for.
    #[inline]
    pub fn next(&mut self) -> M {
        // The last segment's read is no translation's sign, so that short transfers allocate nothing.
        self.reads.extend(self.latest.take());
        self.asked += 1;
        if self.asked <= self.most {
            return self.began;
        }
        self.reads.pop_front().unwrap_or(self.began)
    }

    /// The next segment's read is asked for at `at`.
    #[inline]
    pub fn has_read(&mut self, at: M) {
        self.latest = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_read_lets_one_more_translation_begin() {
        let mut ahead = Ahead::new(0, 3);
        let mut asked = Vec::new();
        for read in 10..16 {
            asked.push(ahead.next());
            ahead.has_read(read);
        }
        assert_eq!(asked, [0, 0, 0, 10, 11, 12]);
    }
}
