//! Where the kernel delivers no calls: nothing is known of a thread.

/// While this lives, calls of this thread are this library's own.
pub struct Own;

impl Own {
    /// From now on.
    pub fn calls() -> Self {
        Self
    }

    /// Whether it is known that this is so.
    pub fn is_calling() -> bool {
        true
    }
}

/// After a fork.
pub fn after_fork(_is_child: bool) {}
