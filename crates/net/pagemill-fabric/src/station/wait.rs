//! Sleeping until there is news.

use crate::board::{Board, Seen};

/// News of a station that a thread can wait for.
#[derive(Clone, Copy)]
pub struct Wait {
    pub(super) board: Board,
    pub(super) index: u32,
    pub(super) seen: Seen,
}

impl Wait {
    /// Waits until there is news, or a moment.
    pub fn wait(self) {
        self.board.wait_for_news(self.index, self.seen);
    }

    /// Makes news, for other threads that wait.
    pub fn notify(self) {
        self.board.notify(self.index);
    }
}
