//! Four warps that execute `wgmma` together, and the barriers at which they meet.

/// Warps of a group.
const WARPS: u32 = 4;
/// Barriers with numbers that programs use; those of groups are behind them.
pub const NUMBERED: usize = 16;
/// All barriers: the numbered ones, then one for each group of a block's 32 warps.
pub const BARRIERS: usize = NUMBERED + 32 / WARPS as usize;

/// At which instruction of `wgmma` the warps of a group meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMeeting {
    /// A product begins: no warp reads an operand before all have come. This orders no other accesses of theirs.
    Product,
    /// `wait_group`: all have read the operands.
    Wait,
}

/// The group that meets at barrier `id`, if it is one of a group.
pub fn group_at(id: u32) -> Option<u32> {
    id.checked_sub(NUMBERED as u32)
}

/// The barrier of the group of warp `number`, and how many warps meet there; `None` if the block has too few `warps` for it.
pub fn barrier_of(number: u32, warps: usize) -> Option<(u32, u32)> {
    let group = number / WARPS;
    let is_whole = ((group + 1) * WARPS) as usize <= warps;
    is_whole.then_some((NUMBERED as u32 + group, WARPS))
}
