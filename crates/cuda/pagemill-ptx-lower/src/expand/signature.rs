//! How a real call hands over its values: results, then parameters, next to each other on the thread's stack.

use pagemill_ptx_ir::ast::{Function, Variable};

/// Stack frames, and what lies in them, begin at multiples of this.
pub(crate) const STACK_ALIGN: u64 = 16;
/// Most bytes of results and parameters of one call.
const BYTES_MAX: u64 = 1 << 16;

/// What a function takes and returns, and where a call puts it.
#[derive(Clone, Debug)]
pub(crate) struct Signature<'a> {
    pub returns: &'a [Variable],
    pub params: &'a [Variable],
    /// Offsets of the results, then of the parameters.
    pub offsets: Vec<u32>,
    /// A multiple of [`STACK_ALIGN`].
    pub bytes: u32,
}

impl<'a> Signature<'a> {
    /// `None` when it would take more than [`BYTES_MAX`].
    pub(crate) fn new(returns: &'a [Variable], params: &'a [Variable]) -> Option<Self> {
        let mut end = 0u64;
        let mut offsets = Vec::new();
        // Results first, both by one rule: a prototype is then enough to lay out a call by address (ADR 0021).
        for variable in returns.iter().chain(params) {
            let align = variable.align.max(variable.ty.bytes()).min(BYTES_MAX);
            let offset = end.next_multiple_of(align.max(1));
            offsets.push(offset as u32);
            end = offset.saturating_add(variable.bytes);
            if end > BYTES_MAX {
                return None;
            }
        }
        Some(Self {
            returns,
            params,
            offsets,
            bytes: end.next_multiple_of(STACK_ALIGN) as u32,
        })
    }

    /// Whether a call laid out by one reaches a function laid out by the other.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let sizes = |signature: &Self| -> Vec<u64> {
            let all = signature.returns.iter().chain(signature.params);
            all.map(|variable| variable.bytes).collect()
        };
        // By sizes and places alone: a prototype need not have the definition's types.
        self.returns.len() == other.returns.len()
            && self.offsets == other.offsets
            && sizes(self) == sizes(other)
    }
}

/// Offset and size of each kernel parameter.
pub(crate) fn param_layout(kernel: &Function) -> Vec<(u32, u32)> {
    let mut end = 0u64;
    let place = |param: &Variable| {
        let offset = end.next_multiple_of(param.align.max(1));
        end = offset + param.bytes;
        (offset as u32, param.bytes as u32)
    };
    kernel.params.iter().map(place).collect()
}
