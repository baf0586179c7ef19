use super::sets::{Lookup, Sets};
use super::{CacheSpec, CacheSpecError, Keeps, Replacement, ReplacementEntry, Request};

const WAYS_MAX: u32 = 64;

/// The approximation of least-recently-used that many processors have: a binary tree over the ways of a set, whose bits
/// point away from what was used last.
#[derive(Debug)]
pub struct TreePlru {
    sets: Sets,
    /// Of each set: bit n is node n of the tree, whose root is 1 and whose children are 2n and 2n + 1.
    trees: Vec<u64>,
}

impl TreePlru {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "tree-plru",
        summary: "a binary tree over the ways of a set points away from what was used last, as in many first-level caches",
        keeps: Keeps::Lines,
        build: |spec| Ok(Box::new(Self::new(spec)?)),
    };

    fn new(spec: &CacheSpec) -> Result<Self, CacheSpecError> {
        if !spec.ways.is_power_of_two() || spec.ways > WAYS_MAX {
            return Err(CacheSpecError::Ways(spec.ways));
        }
        let sets = Sets::new(spec)?;
        Ok(Self {
            trees: vec![0; sets.count()],
            sets,
        })
    }

    /// Every node above `way` points to its other side.
    fn use_way(&mut self, set: usize, way: usize) {
        let tree = &mut self.trees[set];
        let mut node = way + self.sets.ways();
        while node > 1 {
            let is_left = node.is_multiple_of(2);
            node /= 2;
            *tree = (*tree & !(1 << node)) | (u64::from(is_left) << node);
        }
    }

    /// The way that the nodes point to.
    fn victim(&self, set: usize) -> usize {
        let mut node = 1;
        while node < self.sets.ways() {
            node = 2 * node + (self.trees[set] >> node & 1) as usize;
        }
        node - self.sets.ways()
    }
}

impl Replacement for TreePlru {
    fn request(&mut self, request: Request) -> bool {
        let set = self.sets.set_of(request.line);
        let found = self.sets.find(set, request.line);
        let way = match found {
            Lookup::Hit(way) | Lookup::Free(way) => way,
            Lookup::Full => self.victim(set),
        };
        self.sets.fill(set, way, request.line);
        self.use_way(set, way);
        matches!(found, Lookup::Hit(_))
    }

    fn bytes(&self) -> u64 {
        self.sets.bytes()
    }
}
