//! How the lanes of one access lie in memory, found once so that the transfer can be one block copy.

use pagemill_ptx_ir::line::{LANE_BITS, LANES, Line};

/// Lane addresses relative to one run of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// Lane `i` at `start + i * lane_bytes`; all 32 places are inside, active or not.
    Block { start: usize },
    /// Every lane at `at`.
    Broadcast { at: usize },
    /// Each lane at its own offset; inactive lanes at 0.
    Scattered,
}

/// Why a whole warp's access is not inside one run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    Outside,
    Misaligned,
}

/// Finds the pattern of `addresses` in the `len` bytes at `base`. `offsets` is filled for [`Pattern::Scattered`].
#[inline(always)]
pub(crate) fn find(
    addresses: &Line<u64>,
    mask: u32,
    (base, len): (u64, usize),
    lane_bytes: u32,
    offsets: &mut Line<u64>,
) -> Result<Pattern, Stray> {
    let first = mask.trailing_zeros() as usize & (LANES - 1);
    let bytes = u64::from(lane_bytes);
    let align = bytes - 1;
    let len = len as u64;
    let origin = addresses[first].wrapping_sub(first as u64 * bytes);
    if differs(addresses, mask, origin, bytes) == 0 {
        let start = origin.wrapping_sub(base);
        if start <= len && bytes * LANES as u64 <= len - start {
            return if origin & align == 0 {
                Ok(Pattern::Block {
                    start: start as usize,
                })
            } else {
                Err(Stray::Misaligned)
            };
        }
    } else if differs(addresses, mask, addresses[first], 0) == 0 {
        let at = addresses[first].wrapping_sub(base);
        return match () {
            () if at > len || bytes > len - at => Err(Stray::Outside),
            () if addresses[first] & align != 0 => Err(Stray::Misaligned),
            () => Ok(Pattern::Broadcast { at: at as usize }),
        };
    }
    scatter(addresses, mask, (base, len), bytes, offsets)
}

/// Zero if every active lane `i` is at `origin + i * stride`.
#[inline(always)]
pub(super) fn differs(addresses: &Line<u64>, mask: u32, origin: u64, stride: u64) -> u64 {
    let mut apart = Line::splat(0);
    for lane in 0..LANES {
        let active = if mask & LANE_BITS[lane] != 0 {
            u64::MAX
        } else {
            0
        };
        apart[lane] = (addresses[lane] ^ origin.wrapping_add(lane as u64 * stride)) & active;
    }
    or_all64(&apart)
}

#[inline(always)]
fn scatter(
    addresses: &Line<u64>,
    mask: u32,
    (base, len): (u64, u64),
    bytes: u64,
    offsets: &mut Line<u64>,
) -> Result<Pattern, Stray> {
    let mut beyond = Line::splat(0);
    let mut low = Line::splat(0);
    let room = len.wrapping_sub(bytes);
    for lane in 0..LANES {
        let active = if mask & LANE_BITS[lane] != 0 {
            u64::MAX
        } else {
            0
        };
        let offset = addresses[lane].wrapping_sub(base);
        offsets[lane] = offset & active;
        beyond[lane] = if offset > room { active } else { 0 };
        low[lane] = addresses[lane] & (bytes - 1) & active;
    }
    match () {
        () if len < bytes || or_all64(&beyond) != 0 => Err(Stray::Outside),
        () if or_all64(&low) != 0 => Err(Stray::Misaligned),
        () => Ok(Pattern::Scattered),
    }
}

#[inline(always)]
pub(crate) fn or_all64(lanes: &Line<u64>) -> u64 {
    let mut bits = 0;
    for lane in &lanes.0 {
        bits |= lane;
    }
    bits
}

/// Passes beyond the first that banks of four bytes need for these shared-memory offsets.
pub(crate) fn bank_replays(addresses: &Line<u64>, mask: u32, lane_bytes: u32) -> u64 {
    // Wide accesses are served in groups of lanes that fill the 32 banks once.
    let group = (128 / lane_bytes.clamp(4, 128)) as usize;
    let words = lane_bytes.div_ceil(4) as u64;
    let mut replays = 0;
    for start in (0..LANES).step_by(group) {
        let lanes = (start..start + group).filter(|&lane| mask & LANE_BITS[lane] != 0);
        let touched = lanes.flat_map(|lane| (0..words).map(move |word| addresses[lane] / 4 + word));
        replays += passes(touched).saturating_sub(1);
    }
    replays
}

/// Most distinct words that fall into one bank. At most 32 words are given.
fn passes(words: impl Iterator<Item = u64>) -> u64 {
    let mut seen = [[0u64; LANES]; LANES];
    let mut counts = [0usize; LANES];
    for word in words {
        let bank = (word % LANES as u64) as usize;
        let count = counts[bank];
        if count < LANES && !seen[bank][..count].contains(&word) {
            seen[bank][count] = word;
            counts[bank] += 1;
        }
    }
    counts.into_iter().max().unwrap_or(0) as u64
}

#[cfg(test)]
mod tests;
