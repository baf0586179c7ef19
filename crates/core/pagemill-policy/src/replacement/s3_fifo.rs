use super::queues::Queues;
use super::{CacheSpec, Keeps, Replacement, ReplacementEntry, Request};

/// New objects.
const SMALL: usize = 0;
/// Objects that were requested again.
const MAIN: usize = 1;
/// Objects that left the small queue, without their data.
const GHOST: usize = 2;

/// Requests after the first that move an object from the small to the main queue.
const MOVES_AT: u8 = 2;

/// The largest value of an object's counter.
const COUNT_MAX: u8 = 3;

/// Three queues (Yang et al., SOSP 2023): new objects prove themselves in a tenth of the cache.
#[derive(Debug)]
pub struct S3Fifo {
    capacity: u64,
    small_capacity: u64,
    ghost_capacity: u64,
    /// Nothing had to leave yet.
    is_filling: bool,
    queues: Queues<3>,
}

impl S3Fifo {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "s3-fifo",
        summary: "new objects prove themselves in a small queue, a tenth of the cache; larger ones than that are not admitted",
        keeps: Keeps::Objects,
        build: |spec| Ok(Box::new(Self::new(spec))),
    };

    fn new(spec: &CacheSpec) -> Self {
        Self {
            capacity: spec.bytes,
            small_capacity: (spec.bytes / 10).max(1),
            ghost_capacity: (u128::from(spec.bytes) * 9 / 10) as u64,
            is_filling: true,
            queues: Queues::new(),
        }
    }

    /// One object leaves the cache.
    fn evict(&mut self) {
        let main_capacity = self.capacity - self.small_capacity;
        if self.queues.bytes(MAIN) > main_capacity || self.queues.bytes(SMALL) == 0 {
            self.evict_main();
        } else {
            self.evict_small();
        }
    }

    /// The first object of the small queue that was not requested often leaves; others before it move to the main queue.
    fn evict_small(&mut self) {
        while let Some(oldest) = self.queues.oldest(SMALL) {
            if *self.queues.mark(oldest) < MOVES_AT {
                let bytes = self.queues.remove(oldest);
                self.remember(oldest, bytes);
                return;
            }
            self.queues.move_to(MAIN, oldest);
        }
    }

    fn evict_main(&mut self) {
        while let Some(oldest) = self.queues.oldest(MAIN) {
            let count = *self.queues.mark(oldest);
            if count == 0 {
                self.queues.remove(oldest);
                return;
            }
            self.queues.move_to(MAIN, oldest);
            *self.queues.mark(oldest) = count - 1;
        }
    }

    fn remember(&mut self, object: u32, bytes: u32) {
        if u64::from(bytes) > self.ghost_capacity {
            return;
        }
        while self.queues.bytes(GHOST) + u64::from(bytes) > self.ghost_capacity {
            self.queues.pop(GHOST);
        }
        self.queues.push(GHOST, object, bytes);
    }
}

impl Replacement for S3Fifo {
    fn request(&mut self, request: Request) -> bool {
        let queue = self.queues.queue_of(request.object);
        if let Some(SMALL | MAIN) = queue {
            let count = self.queues.mark(request.object);
            *count = (*count + 1).min(COUNT_MAX);
            return true;
        }
        if queue == Some(GHOST) {
            self.queues.remove(request.object);
        }
        if u64::from(request.bytes) <= self.small_capacity {
            while self.bytes() + u64::from(request.bytes) > self.capacity {
                self.is_filling = false;
                self.evict();
            }
            // The first objects fill the main queue, too: nothing could move there while nothing leaves.
            let is_small_full = self.queues.bytes(SMALL) >= self.small_capacity;
            let into = if queue == Some(GHOST) || (self.is_filling && is_small_full) {
                MAIN
            } else {
                SMALL
            };
            self.queues.push(into, request.object, request.bytes);
        }
        false
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes(SMALL) + self.queues.bytes(MAIN)
    }
}
