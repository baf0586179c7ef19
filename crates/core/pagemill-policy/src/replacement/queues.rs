//! Objects in queues: each in at most one of `N`.

use super::Request;

const NONE: u32 = u32::MAX;
const NO_QUEUE: u8 = u8::MAX;

/// Where an object is.
#[derive(Clone, Copy, Debug)]
struct Place {
    newer: u32,
    older: u32,
    bytes: u32,
    queue: u8,
    mark: u8,
}

const NOWHERE: Place = Place {
    newer: NONE,
    older: NONE,
    bytes: 0,
    queue: NO_QUEUE,
    mark: 0,
};

#[derive(Clone, Copy, Debug)]
struct Ends {
    newest: u32,
    oldest: u32,
    bytes: u64,
}

/// `N` queues of objects with a small counter each. Every operation takes constant time.
#[derive(Clone, Debug)]
pub struct Queues<const N: usize> {
    places: Vec<Place>,
    ends: [Ends; N],
}

impl<const N: usize> Queues<N> {
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            ends: [Ends {
                newest: NONE,
                oldest: NONE,
                bytes: 0,
            }; N],
        }
    }

    /// The queue that holds `object`.
    #[inline]
    pub fn queue_of(&self, object: u32) -> Option<usize> {
        let place = self.places.get(object as usize)?;
        (place.queue != NO_QUEUE).then_some(usize::from(place.queue))
    }

    /// Bytes of all objects in `queue`.
    #[inline]
    pub fn bytes(&self, queue: usize) -> u64 {
        self.ends[queue].bytes
    }

    /// Puts a requested object at the end of queue 0 of a cache of `capacity` bytes that has only this queue; `evict` frees some
    /// bytes each time. An object that is larger than the cache is not admitted.
    #[inline]
    pub fn admit(&mut self, request: Request, capacity: u64, mut evict: impl FnMut(&mut Self)) {
        let bytes = u64::from(request.bytes);
        if bytes > capacity {
            return;
        }
        while self.bytes(0) + bytes > capacity {
            evict(self);
        }
        self.push(0, request.object, request.bytes);
    }

    /// The object that has been in `queue` longest.
    #[inline]
    pub fn oldest(&self, queue: usize) -> Option<u32> {
        let oldest = self.ends[queue].oldest;
        (oldest != NONE).then_some(oldest)
    }

    /// The counter of an object that is in a queue.
    #[inline]
    pub fn mark(&mut self, object: u32) -> &mut u8 {
        &mut self.places[object as usize].mark
    }

    /// Puts an object that is in no queue at the end of `queue`, with a counter of 0.
    #[inline]
    pub fn push(&mut self, queue: usize, object: u32, bytes: u32) {
        let index = object as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, NOWHERE);
        }
        let ends = &mut self.ends[queue];
        self.places[index] = Place {
            newer: NONE,
            older: ends.newest,
            bytes,
            queue: queue as u8,
            mark: 0,
        };
        match ends.newest {
            NONE => ends.oldest = object,
            newest => self.places[newest as usize].newer = object,
        }
        ends.newest = object;
        ends.bytes += u64::from(bytes);
    }

    /// Takes an object out of its queue; the bytes of the object.
    #[inline]
    pub fn remove(&mut self, object: u32) -> u32 {
        let Place {
            newer,
            older,
            bytes,
            queue,
            ..
        } = self.places[object as usize];
        let ends = &mut self.ends[usize::from(queue)];
        match newer {
            NONE => ends.newest = older,
            newer => self.places[newer as usize].older = older,
        }
        match older {
            NONE => ends.oldest = newer,
            older => self.places[older as usize].newer = newer,
        }
        ends.bytes -= u64::from(bytes);
        self.places[object as usize].queue = NO_QUEUE;
        bytes
    }

    /// Takes the oldest object out of `queue`; the object and its bytes.
    #[inline]
    pub fn pop(&mut self, queue: usize) -> Option<(u32, u32)> {
        let oldest = self.oldest(queue)?;
        Some((oldest, self.remove(oldest)))
    }

    /// Puts an object that is in a queue at the end of `queue`, with a counter of 0.
    #[inline]
    pub fn move_to(&mut self, queue: usize, object: u32) {
        let bytes = self.remove(object);
        self.push(queue, object, bytes);
    }
}
