//! The object behind `mbarrier`: 64 bits that count arrivals and bytes.
//!
//! From the lowest: arrivals that are pending in this phase, arrivals of a whole phase (20 bits each), bytes that are still to
//! come (23 bits, two's complement), and the parity of the phase. A phase is over when nothing is pending and nothing is to come.

const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTES_AT: u32 = 2 * COUNT_BITS;
const BYTES: u64 = (1 << 23) - 1;
const PHASE: u64 = 1 << 63;

fn pending(state: u64) -> u64 {
    state & COUNT
}

fn expected(state: u64) -> u64 {
    state >> COUNT_BITS & COUNT
}

fn bytes(state: u64) -> u64 {
    state >> BYTES_AT & BYTES
}

fn object(pending: u64, expected: u64, bytes: u64, phase: u64) -> u64 {
    (pending & COUNT)
        | (expected & COUNT) << COUNT_BITS
        | (bytes & BYTES) << BYTES_AT
        | phase & PHASE
}

/// The next phase, if this one is over.
fn next(state: u64) -> u64 {
    match (pending(state), bytes(state)) {
        (0, 0) => object(expected(state), expected(state), 0, !state),
        _ => state,
    }
}

/// An object for `count` arrivals a phase.
pub fn init(count: u64, _: u64, _: u64, _: u32) -> u64 {
    object(count, count, 0, 0)
}

/// `count` arrivals.
pub fn arrive(old: u64, count: u64, _: u64) -> u64 {
    match count {
        0 => old,
        _ => next(object(
            pending(old).wrapping_sub(count),
            expected(old),
            bytes(old),
            old,
        )),
    }
}

/// One arrival, after which `more` bytes are to come.
pub fn arrive_expecting(old: u64, more: u64, _: u64) -> u64 {
    arrive(expect(old, more, 0), 1, 0)
}

/// `count` arrivals that later phases do without.
pub fn drop(old: u64, count: u64, _: u64) -> u64 {
    let fewer = object(
        pending(old),
        expected(old).wrapping_sub(count),
        bytes(old),
        old,
    );
    arrive(fewer, count, 0)
}

/// One arrival that later phases do without, after which `more` bytes are to come.
pub fn drop_expecting(old: u64, more: u64, _: u64) -> u64 {
    drop(expect(old, more, 0), 1, 0)
}

/// `more` bytes are to come.
pub fn expect(old: u64, more: u64, _: u64) -> u64 {
    object(
        pending(old),
        expected(old),
        bytes(old).wrapping_add(more),
        old,
    )
}

/// `more` bytes have come.
pub fn complete(old: u64, more: u64, _: u64) -> u64 {
    next(object(
        pending(old),
        expected(old),
        bytes(old).wrapping_sub(more),
        old,
    ))
}

/// Arrivals that were pending in `state`.
pub fn pending_count(state: u64, _: u64, _: u64, _: u32) -> u64 {
    pending(state)
}

/// Whether the phase of `state` is an odd one.
pub fn is_odd(state: u64) -> bool {
    state & PHASE != 0
}

/// Whether the phase of state `then` is over.
pub fn is_past(now: u64, then: u64, _: u64, _: u32) -> u64 {
    (now ^ then) >> 63
}

/// Whether the phase of that parity is over.
pub fn is_past_parity(now: u64, parity: u64, _: u64, _: u32) -> u64 {
    (now >> 63) ^ (parity & 1)
}
