//! Messages of a rank, and the groups that exchange them.

/// Messages that start together: receives first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Messages of others.
    pub receives: Vec<Message>,
    /// Own messages.
    pub sends: Vec<Message>,
}

/// A message, as one of its two ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub peer: u32,
    /// What it is matched by, together with the order of messages.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Where the data lies at this end.
    pub address: u64,
}

/// Ranks at equal distances: `first`, `first + stride`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The rank at position 0.
    pub first: u32,
    /// Distance of two positions.
    pub stride: u32,
    /// How many ranks it has.
    pub size: u32,
}

impl Phase {
    /// Takes all messages out.
    pub fn clear(&mut self) {
        self.receives.clear();
        self.sends.clear();
    }

    /// Adds a receive, unless it is empty.
    pub fn receive(&mut self, message: Message) {
        if message.bytes > 0 {
            self.receives.push(message);
        }
    }

    /// Adds a send, unless it is empty.
    pub fn send(&mut self, message: Message) {
        if message.bytes > 0 {
            self.sends.push(message);
        }
    }

    /// Messages of both kinds.
    pub fn messages(&self) -> usize {
        self.receives.len() + self.sends.len()
    }
}

impl Group {
    /// All of `ranks` ranks.
    pub fn all(ranks: u32) -> Self {
        Self {
            first: 0,
            stride: 1,
            size: ranks,
        }
    }

    /// The rank at `position`.
    pub fn rank(&self, position: u32) -> u32 {
        self.first + position * self.stride
    }

    /// Where `rank`, which has to be in the group, is.
    pub fn position(&self, rank: u32) -> u32 {
        (rank - self.first) / self.stride.max(1)
    }
}
