//! Replacement policies against trivial models: vectors that are searched, written from the papers' rules.

use std::collections::VecDeque;

use pagemill_policy::replacement::{
    CacheSpec, CacheSpecError, Keeps, REPLACEMENTS, Replacement, Request,
};
use proptest::prelude::*;

const LINE_BYTES: u32 = 64;

fn cache(name: &str, bytes: u64, ways: u32) -> Box<dyn Replacement> {
    let spec = CacheSpec {
        bytes,
        ways,
        line_bytes: LINE_BYTES,
    };
    let entry = REPLACEMENTS.find(name).expect("a registered policy");
    (entry.build)(&spec).expect("the cache is possible")
}

/// Objects of 1 to 9 bytes, by their number.
fn request(object: u32) -> Request {
    Request {
        object,
        bytes: 1 + object * 7 % 9,
        line: u64::from(object),
    }
}

/// A queue, the newest at the back: object, bytes, requests since it came.
type Queue = VecDeque<(u32, u64, u32)>;

fn bytes(queue: &Queue) -> u64 {
    queue.iter().map(|entry| entry.1).sum()
}

fn take(queue: &mut Queue, object: u32) -> Option<(u32, u64, u32)> {
    let at = queue.iter().position(|entry| entry.0 == object)?;
    queue.remove(at)
}

/// One queue; `on_hit` and `stays` say what the policy is.
struct OneQueue {
    queue: Queue,
    capacity: u64,
    kind: &'static str,
}

impl OneQueue {
    fn request(&mut self, request: Request) -> bool {
        let size = u64::from(request.bytes);
        if let Some(at) = self
            .queue
            .iter()
            .position(|entry| entry.0 == request.object)
        {
            match self.kind {
                "lru" => {
                    let entry = self.queue.remove(at).expect("it was found");
                    self.queue.push_back(entry);
                }
                "clock" => self.queue[at].2 = 1,
                _ => {}
            }
            return true;
        }
        if size <= self.capacity {
            while bytes(&self.queue) + size > self.capacity {
                let oldest = self.queue.pop_front().expect("bytes are of objects");
                if oldest.2 > 0 {
                    self.queue.push_back((oldest.0, oldest.1, 0));
                }
            }
            self.queue.push_back((request.object, size, 0));
        }
        false
    }
}

/// Algorithm 1 of "FIFO queues are all you need for cache eviction", with bytes.
struct S3 {
    small: Queue,
    main: Queue,
    ghost: Queue,
    capacity: u64,
    filled: bool,
}

impl S3 {
    fn request(&mut self, request: Request) -> bool {
        let size = u64::from(request.bytes);
        for queue in [&mut self.small, &mut self.main] {
            if let Some(entry) = queue.iter_mut().find(|entry| entry.0 == request.object) {
                entry.2 = (entry.2 + 1).min(3);
                return true;
            }
        }
        let was_ghost = take(&mut self.ghost, request.object).is_some();
        let small_max = (self.capacity / 10).max(1);
        if size <= small_max {
            while bytes(&self.small) + bytes(&self.main) + size > self.capacity {
                self.filled = true;
                if bytes(&self.main) > self.capacity - small_max || self.small.is_empty() {
                    self.evict_main();
                } else {
                    self.evict_small();
                }
            }
            let is_full = bytes(&self.small) >= small_max;
            let queue = if was_ghost || (is_full && !self.filled) {
                &mut self.main
            } else {
                &mut self.small
            };
            queue.push_back((request.object, size, 0));
        }
        false
    }

    fn evict_small(&mut self) {
        while let Some((object, size, count)) = self.small.pop_front() {
            if count >= 2 {
                self.main.push_back((object, size, 0));
                continue;
            }
            let ghost_max = self.capacity * 9 / 10;
            if size <= ghost_max {
                while bytes(&self.ghost) + size > ghost_max {
                    self.ghost.pop_front();
                }
                self.ghost.push_back((object, size, 0));
            }
            return;
        }
    }

    fn evict_main(&mut self) {
        while let Some((object, size, count)) = self.main.pop_front() {
            if count == 0 {
                return;
            }
            self.main.push_back((object, size, count - 1));
        }
    }
}

/// Figure 4 of "ARC: a self-tuning, low overhead replacement cache", for pages of one size.
struct PagesOfArc {
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
    p: f64,
    c: usize,
}

impl PagesOfArc {
    fn request(&mut self, x: u32) -> bool {
        let remove = |list: &mut Vec<u32>| {
            let at = list.iter().position(|page| *page == x);
            at.map(|at| list.remove(at)).is_some()
        };
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if remove(&mut self.t1) || remove(&mut self.t2) {
            self.t2.push(x);
            return true;
        }
        if self.b1.contains(&x) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(self.c as f64);
            remove(&mut self.b1);
            self.replace(false);
            self.t2.push(x);
        } else if self.b2.contains(&x) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
            remove(&mut self.b2);
            self.replace(true);
            self.t2.push(x);
        } else {
            let all = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
            if self.t1.len() + self.b1.len() == self.c {
                if self.t1.len() < self.c {
                    self.b1.remove(0);
                    self.replace(false);
                } else {
                    self.t1.remove(0);
                }
            } else if all >= self.c {
                if all == 2 * self.c {
                    self.b2.remove(0);
                }
                self.replace(false);
            }
            self.t1.push(x);
        }
        false
    }

    fn replace(&mut self, in_b2: bool) {
        if self.t1.len() + self.t2.len() < self.c {
            return;
        }
        let t1 = self.t1.len() as f64;
        let is_too_large = t1 >= 1.0 && (t1 > self.p || (in_b2 && t1 == self.p));
        if is_too_large || self.t2.is_empty() {
            self.b1.push(self.t1.remove(0));
        } else {
            self.b2.push(self.t2.remove(0));
        }
    }
}

/// One set with a tree of plain booleans: `true` points right.
struct Tree {
    lines: Vec<Option<u64>>,
    right: Vec<bool>,
}

impl Tree {
    fn request(&mut self, line: u64) -> bool {
        let ways = self.lines.len();
        let hit = self.lines.iter().position(|held| *held == Some(line));
        let free = self.lines.iter().position(Option::is_none);
        let way = hit.or(free).unwrap_or_else(|| {
            let (mut low, mut high, mut node) = (0, ways, 0);
            while high - low > 1 {
                let middle = (low + high) / 2;
                let right = self.right[node];
                (low, high) = if right { (middle, high) } else { (low, middle) };
                node = 2 * node + 1 + usize::from(right);
            }
            low
        });
        self.lines[way] = Some(line);
        let (mut low, mut high, mut node) = (0, ways, 0);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let is_right = way >= middle;
            self.right[node] = !is_right;
            (low, high) = if is_right {
                (middle, high)
            } else {
                (low, middle)
            };
            node = 2 * node + 1 + usize::from(is_right);
        }
        hit.is_some()
    }
}

/// All sets of a DRRIP cache of 2 sets: set 0 leads statically, set 1 bimodally.
struct TwoSets {
    sets: [Vec<(u64, u8)>; 2],
    ways: usize,
    bimodal: u32,
}

impl TwoSets {
    fn request(&mut self, line: u64) -> bool {
        let number = (line % 2) as usize;
        let set = &mut self.sets[number];
        if let Some(entry) = set.iter_mut().find(|entry| entry.0 == line) {
            entry.1 = 0;
            return true;
        }
        let start = if number == 0 {
            2
        } else {
            self.bimodal += 1;
            if self.bimodal.is_multiple_of(32) {
                2
            } else {
                3
            }
        };
        if set.len() < self.ways {
            set.push((line, start));
            return false;
        }
        loop {
            if let Some(entry) = set.iter_mut().find(|entry| entry.1 == 3) {
                *entry = (line, start);
                return false;
            }
            set.iter_mut().for_each(|entry| entry.1 += 1);
        }
    }
}

fn objects() -> impl Strategy<Value = Vec<u32>> {
    // Scans, loops and hot objects.
    let part = prop_oneof![
        prop::collection::vec(0_u32..60, 0..200),
        prop::collection::vec(0_u32..8, 0..100),
        (0_u32..50, 1_u32..40).prop_map(|(first, count)| (first..first + count).collect()),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn queues_hit_as_their_models(objects in objects(), capacity in 1_u64..150) {
        for kind in ["lru", "fifo", "clock"] {
            let mut cache = cache(kind, capacity, 1);
            let mut model = OneQueue { queue: Queue::new(), capacity, kind };
            for object in &objects {
                prop_assert_eq!(cache.request(request(*object)), model.request(request(*object)), "{}", kind);
                prop_assert_eq!(cache.bytes(), bytes(&model.queue));
            }
        }
    }

    #[test]
    fn s3_fifo_hits_as_its_model(objects in objects(), capacity in 1_u64..300) {
        let mut cache = cache("s3-fifo", capacity, 1);
        let mut model = S3 { small: Queue::new(), main: Queue::new(), ghost: Queue::new(), capacity, filled: false };
        for object in &objects {
            prop_assert_eq!(cache.request(request(*object)), model.request(request(*object)));
            prop_assert_eq!(cache.bytes(), bytes(&model.small) + bytes(&model.main));
        }
    }

    #[test]
    fn arc_hits_as_the_paper_says(objects in objects(), pages in 1_usize..40) {
        let mut cache = cache("arc", pages as u64, 1);
        let mut model = PagesOfArc { t1: vec![], t2: vec![], b1: vec![], b2: vec![], p: 0.0, c: pages };
        for object in &objects {
            let request = Request { object: *object, bytes: 1, line: 0 };
            prop_assert_eq!(cache.request(request), model.request(*object));
        }
    }

    #[test]
    fn tree_plru_hits_as_its_model(objects in objects(), ways_log2 in 0_u32..5) {
        let ways = 1 << ways_log2;
        let mut cache = cache("tree-plru", u64::from(ways * LINE_BYTES), ways);
        let mut model = Tree { lines: vec![None; ways as usize], right: vec![false; 32] };
        for object in &objects {
            prop_assert_eq!(cache.request(request(*object)), model.request(u64::from(*object)));
        }
    }

    #[test]
    fn drrip_hits_as_its_model(objects in objects(), ways in 1_u32..9) {
        let mut cache = cache("drrip", u64::from(2 * ways * LINE_BYTES), ways);
        let mut model = TwoSets { sets: [vec![], vec![]], ways: ways as usize, bimodal: 0 };
        for object in &objects {
            prop_assert_eq!(cache.request(request(*object)), model.request(u64::from(*object)));
        }
    }

    #[test]
    fn every_policy_keeps_the_contract(objects in objects(), size in 1_u64..64) {
        for entry in &REPLACEMENTS {
            let (bytes, ways, is_lines) = (size * 8, 2, entry.keeps == Keeps::Lines);
            let capacity = if is_lines { size * 2 * u64::from(LINE_BYTES) } else { bytes };
            let mut one = cache(entry.name, capacity, ways);
            let mut blocks = cache(entry.name, capacity, ways);
            let mut seen = std::collections::BTreeSet::new();
            let requests: Vec<Request> = objects.iter().map(|object| request(*object)).collect();
            let mut missed = 0;
            for request in &requests {
                let hit = one.request(*request);
                missed += u64::from(!hit);
                prop_assert!(!hit || seen.contains(&request.object), "{} hits what was never there", entry.name);
                prop_assert!(one.bytes() <= capacity, "{} holds more than fits", entry.name);
                seen.insert(request.object);
            }
            let counts: u64 = requests.chunks(17).map(|block| blocks.requests(block).objects).sum();
            prop_assert_eq!(counts, missed, "{} in blocks", entry.name);
        }
    }

    #[test]
    fn what_fits_misses_once(objects in objects()) {
        for entry in &REPLACEMENTS {
            // 110 objects of 9 bytes or lines; the small queue of s3-fifo has room for the largest.
            let mut cache = cache(entry.name, 128 * u64::from(LINE_BYTES), 8);
            let mut seen = std::collections::BTreeSet::new();
            for object in &objects {
                let is_new = seen.insert(*object);
                prop_assert_eq!(cache.request(request(*object)), !is_new, "{}", entry.name);
            }
        }
    }
}

/// A loop over a bit more than the cache: hopeless for least-recently-used, and what the bimodal policy is for.
#[test]
fn drrip_keeps_part_of_a_loop_that_does_not_fit() {
    let (ways, sets) = (16_u32, 256_u64);
    let bytes = sets * u64::from(ways * LINE_BYTES);
    let lines = sets * u64::from(ways) * 5 / 4;
    let misses = |name: &str| {
        let mut cache = cache(name, bytes, ways);
        let round: Vec<Request> = (0..lines).map(|line| request(line as u32)).collect();
        (0..40).map(|_| cache.requests(&round).objects).sum::<u64>()
    };
    assert!(misses("tree-plru") > 30 * lines, "{}", misses("tree-plru"));
    assert!(
        misses("drrip") < 20 * lines,
        "{} of {}",
        misses("drrip"),
        40 * lines
    );
}

#[test]
fn caches_that_cannot_be_are_refused() {
    let build = |name: &str, bytes, ways| {
        let spec = CacheSpec {
            bytes,
            ways,
            line_bytes: LINE_BYTES,
        };
        (REPLACEMENTS.find(name).expect("registered").build)(&spec).map(drop)
    };
    assert_eq!(
        build("tree-plru", 64 * 12, 12),
        Err(CacheSpecError::Ways(12))
    );
    assert_eq!(
        build("drrip", 100, 2),
        Err(CacheSpecError::Sets {
            bytes: 100,
            set_bytes: 128
        })
    );
    assert!(build("drrip", 0, 2).is_err() && build("drrip", 128, 0).is_err());
    assert!(REPLACEMENTS.find("no-such-policy").is_err());
}
