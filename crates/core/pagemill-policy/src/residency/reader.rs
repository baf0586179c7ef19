use super::pattern::{ELEMENT_BYTES, WARP_LANES};
use super::{AccessPattern, PatternSpec, WarpRead};

/// The next value of the C library's linear congruential generator, as the published kernel draws it.
pub fn lcg(x: u64) -> u64 {
    1_103_515_245_u64.wrapping_mul(x).wrapping_add(12345) & ((1 << 31) - 1)
}

/// The reads of one warp, in order.
#[derive(Clone, Debug)]
pub struct WarpReader {
    walk: Walk,
}

#[derive(Clone, Debug)]
enum Walk {
    /// Elements `next..end` in strides; each read is cut at `end`.
    Strided { next: u64, end: u64, stride: u64 },
    Random {
        /// Below 2^31.
        x: u32,
        left: u64,
        pages: u64,
        page_elements: u64,
    },
}

impl WarpReader {
    pub(super) fn new(spec: &PatternSpec, block: u32, warp: u32) -> Self {
        let first_thread = u64::from(warp) * WARP_LANES;
        let first_of_grid = u64::from(block) * spec.threads_per_block() + first_thread;
        let elements = spec.elements();
        let walk = match spec.pattern {
            AccessPattern::GridStride => Walk::Strided {
                next: first_of_grid,
                end: elements,
                stride: spec.threads(),
            },
            AccessPattern::BlockStride => {
                let start = spec.elements_per_block() * u64::from(block);
                Walk::Strided {
                    next: start + first_thread,
                    end: (start + spec.elements_per_block()).min(elements),
                    stride: spec.threads_per_block(),
                }
            }
            AccessPattern::RandomWarp => Walk::Random {
                // Warps start 32 numbers apart. With a modulus of 2^31 that is why a number of pages which is a
                // multiple of 32 makes all warps read few pages at a time, here as on a card
                // (validation/DEVIATIONS.md, "Residency").
                x: lcg(spec.seed.wrapping_add(first_of_grid)) as u32,
                left: elements / spec.threads(),
                pages: spec.bytes / spec.page_bytes,
                page_elements: spec.page_bytes / ELEMENT_BYTES,
            },
        };
        Self { walk }
    }
}

impl Iterator for WarpReader {
    type Item = WarpRead;

    #[inline]
    fn next(&mut self) -> Option<WarpRead> {
        match &mut self.walk {
            Walk::Strided { next, end, stride } => {
                let start = *next;
                let lanes = end.saturating_sub(start).min(WARP_LANES);
                *next += *stride;
                (lanes > 0).then_some(WarpRead {
                    start: start * ELEMENT_BYTES,
                    bytes: (lanes * ELEMENT_BYTES) as u32,
                })
            }
            Walk::Random {
                x,
                left,
                pages,
                page_elements,
            } => {
                *left = left.checked_sub(1)?;
                let drawn = lcg(u64::from(*x));
                *x = drawn as u32;
                // One draw gives the page and the place in it, as in the published kernel; the place leaves room for
                // all 32 lanes.
                let element =
                    drawn % *pages * *page_elements + drawn % (*page_elements - WARP_LANES);
                Some(WarpRead {
                    start: element * ELEMENT_BYTES,
                    bytes: (WARP_LANES * ELEMENT_BYTES) as u32,
                })
            }
        }
    }
}
