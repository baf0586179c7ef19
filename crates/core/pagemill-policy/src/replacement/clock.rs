use super::queues::Queues;
use super::{CacheSpec, Keeps, Replacement, ReplacementEntry, Request};

/// First in, first out, but an object that was requested again stays for another round (Corbató 1968).
#[derive(Debug)]
pub struct Clock {
    capacity: u64,
    queues: Queues<1>,
}

impl Clock {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "clock",
        summary: "first in, first out; an object that was requested again stays for another round",
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

/// One object leaves. Each that stays loses its mark, so this ends.
fn evict(queues: &mut Queues<1>) {
    while let Some(oldest) = queues.oldest(0) {
        if *queues.mark(oldest) == 0 {
            queues.remove(oldest);
            return;
        }
        queues.move_to(0, oldest);
    }
}

impl Replacement for Clock {
    fn request(&mut self, request: Request) -> bool {
        if self.queues.queue_of(request.object).is_some() {
            *self.queues.mark(request.object) = 1;
            return true;
        }
        self.queues.admit(request, self.capacity, evict);
        false
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes(0)
    }
}
