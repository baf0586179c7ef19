use super::queues::Queues;
use super::{CacheSpec, Keeps, Replacement, ReplacementEntry, Request};

/// Objects in the cache that were requested once; the paper's T1.
const ONCE: usize = 0;
/// Objects in the cache that were requested again; T2.
const AGAIN: usize = 1;
/// Objects that left `ONCE`, without their data; B1.
const ONCE_GHOST: usize = 2;
/// Objects that left `AGAIN`, without their data; B2.
const AGAIN_GHOST: usize = 3;

/// Adaptive replacement (Megiddo and Modha, FAST 2003): requests for what left too early decide how much of the cache new
/// objects have. Sizes are counted in bytes, so that it holds for objects of any size.
#[derive(Debug)]
pub struct Arc {
    capacity: u64,
    /// Bytes that `ONCE` should have; the paper's p.
    target: f64,
    queues: Queues<4>,
}

impl Arc {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "arc",
        summary: "two queues, for objects requested once and again; what left too early decides their shares",
        keeps: Keeps::Objects,
        build: |spec| Ok(Box::new(Self::new(spec))),
    };

    fn new(spec: &CacheSpec) -> Self {
        Self {
            capacity: spec.bytes,
            target: 0.0,
            queues: Queues::new(),
        }
    }

    /// Moves the target towards the queue whose ghost was asked for.
    fn adapt(&mut self, ghost: usize, bytes: u32) {
        let other = ONCE_GHOST + AGAIN_GHOST - ghost;
        let weight = self.queues.bytes(other) as f64 / self.queues.bytes(ghost) as f64;
        let step = f64::from(bytes) * weight.max(1.0);
        self.target = if ghost == ONCE_GHOST {
            (self.target + step).min(self.capacity as f64)
        } else {
            (self.target - step).max(0.0)
        };
    }

    /// One object leaves the cache; its ghost stays.
    fn replace(&mut self, is_again_ghost: bool) {
        let once = self.queues.bytes(ONCE) as f64;
        let has_too_much = once > self.target || (once == self.target && is_again_ghost);
        let from_once = (once > 0.0 && has_too_much) || self.queues.bytes(AGAIN) == 0;
        let (from, to) = if from_once {
            (ONCE, ONCE_GHOST)
        } else {
            (AGAIN, AGAIN_GHOST)
        };
        if let Some(oldest) = self.queues.oldest(from) {
            self.queues.move_to(to, oldest);
        }
    }

    /// One object leaves the cache for an object that has no ghost: the paper's case IV.
    fn replace_for_new(&mut self, bytes: u64) {
        let once = self.queues.bytes(ONCE) + self.queues.bytes(ONCE_GHOST);
        let again = self.queues.bytes(AGAIN) + self.queues.bytes(AGAIN_GHOST);
        if once + bytes > self.capacity {
            if self.queues.pop(ONCE_GHOST).is_none() {
                self.queues.pop(ONCE);
                return;
            }
        } else if once + again >= 2 * self.capacity {
            self.queues.pop(AGAIN_GHOST);
        }
        self.replace(false);
    }
}

impl Replacement for Arc {
    fn request(&mut self, request: Request) -> bool {
        let bytes = u64::from(request.bytes);
        match self.queues.queue_of(request.object) {
            Some(ONCE | AGAIN) => {
                self.queues.move_to(AGAIN, request.object);
                return true;
            }
            Some(ghost) => {
                self.adapt(ghost, request.bytes);
                self.queues.remove(request.object);
                while self.bytes() + bytes > self.capacity {
                    self.replace(ghost == AGAIN_GHOST);
                }
                self.queues.push(AGAIN, request.object, request.bytes);
            }
            None if bytes > self.capacity => {}
            None => {
                while self.bytes() + bytes > self.capacity {
                    self.replace_for_new(bytes);
                }
                self.queues.push(ONCE, request.object, request.bytes);
            }
        }
        false
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes(ONCE) + self.queues.bytes(AGAIN)
    }
}
