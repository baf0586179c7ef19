use super::queues::Queues;
use super::{CacheSpec, Keeps, Replacement, ReplacementEntry, Request};

/// The object that was requested longest ago leaves.
#[derive(Debug)]
pub struct Lru {
    capacity: u64,
    queues: Queues<1>,
}

impl Lru {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "lru",
        summary: "the object that was requested longest ago leaves",
        keeps: Keeps::Objects,
        build: |spec| Ok(Box::new(Self::new(spec))),
    };

    fn new(spec: &CacheSpec) -> Self {
        Self {
            capacity: spec.bytes,
            queues: Queues::new(),
        }
    }
}

impl Replacement for Lru {
    fn request(&mut self, request: Request) -> bool {
        if self.queues.queue_of(request.object).is_some() {
            self.queues.move_to(0, request.object);
            return true;
        }
        self.queues.admit(request, self.capacity, |queues| {
            queues.pop(0);
        });
        false
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes(0)
    }
}
