//! Lanes of one warp that go their own ways.
//!
//! A warp normally runs one path and keeps the others on its reconvergence stack: the lanes of a branch run to the end of
//! their side before those of the other side begin. That never ends where lanes of the two sides wait for each other. Such
//! a warp is *split*: every group of lanes that stands at one place becomes a fragment with a path and a stack of its own,
//! and fragments take turns. Fragments that come to the same place with the same stack become one again. See ADR 0017.

use super::path::{Fragment, Meeting};
use super::warp::Warp;
use pagemill_ptx_ir::code::path::Path;

impl Warp {
    /// Whether some lanes stand elsewhere than the current path and its stack say.
    #[inline(always)]
    pub(crate) fn is_split(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether `mask` are all lanes of the current path, and no other path takes turns with it.
    #[inline(always)]
    pub(crate) fn is_together(&self, mask: u32) -> bool {
        mask == self.path.mask && !self.is_split() && !self.watch.shares
    }

    /// Makes a fragment of every group of lanes that waits on the stack. A lane stands where the topmost entry that holds
    /// it says; the entries below that hold it are where it goes next.
    pub(crate) fn split(&mut self) {
        let stack = std::mem::take(&mut self.stack);
        let below = |lanes: u32, end: usize| -> Vec<Path> {
            let holds = stack[..end].iter().filter(|path| path.mask & lanes != 0);
            holds
                .map(|path| Path {
                    mask: path.mask & lanes,
                    ..*path
                })
                .collect()
        };
        let mut above = self.path.mask;
        for (at, path) in stack.iter().enumerate().rev() {
            let mask = path.mask & self.alive & !above;
            above |= path.mask;
            if mask != 0 {
                self.parked.push_back(Fragment {
                    path: Path { mask, ..*path },
                    stack: below(mask, at),
                    waits: None,
                });
            }
        }
        self.stack = below(self.path.mask, stack.len());
    }

    /// Makes a fragment of the lanes of `mask`, which leave the current path and go on at `pc`.
    pub(crate) fn detach(&mut self, mask: u32, pc: u32, waits: Option<Meeting>) {
        let of_lanes = |path: &Path| Path {
            mask: path.mask & mask,
            ..*path
        };
        self.parked.push_back(Fragment {
            path: Path {
                pc,
                ..of_lanes(&self.path)
            },
            stack: self.stack.iter().map(of_lanes).collect(),
            waits,
        });
        self.path.mask &= !mask;
        for path in &mut self.stack {
            path.mask &= !mask;
        }
    }

    /// Puts the lanes of the current path behind all other fragments.
    pub(crate) fn park(&mut self, waits: Option<Meeting>) {
        let stack = std::mem::take(&mut self.stack);
        if self.path.mask != 0 {
            self.parked.push_back(Fragment {
                path: self.path,
                stack,
                waits,
            });
        }
        self.path.mask = 0;
    }

    /// Goes on with the fragment that has waited longest for its turn, and with all others at the same place. False when
    /// every fragment waits for something.
    pub(crate) fn dispatch(&mut self) -> bool {
        let Some(at) = self.parked.iter().position(|part| part.waits.is_none()) else {
            return false;
        };
        let Some(Fragment { path, stack, .. }) = self.parked.remove(at) else {
            return false;
        };
        (self.path, self.stack) = (path, stack);
        let (path, stack) = (&mut self.path, &mut self.stack);
        self.parked.retain(|other| {
            let joins = other.waits.is_none() && is_same_place(path, stack, other);
            if joins {
                path.mask |= other.path.mask;
                for (entry, others) in stack.iter_mut().zip(&other.stack) {
                    entry.mask |= others.mask;
                }
            }
            !joins
        });
        true
    }
}

/// Whether `other` stands where the lanes of `path` stand, with the same way ahead.
fn is_same_place(path: &Path, stack: &[Path], other: &Fragment) -> bool {
    let same = |a: &Path, b: &Path| a.pc == b.pc && a.reconverge == b.reconverge;
    same(path, &other.path)
        && stack.len() == other.stack.len()
        && stack.iter().zip(&other.stack).all(|(a, b)| same(a, b))
}

#[cfg(test)]
mod tests;
