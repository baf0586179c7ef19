use super::stripe::emit_stripes;
use super::{Call, Placement, Side, Strategy, StrategyEntry};

/// Deals stripes so that the GPU gets exactly what fits, spread evenly over the allocation.
#[derive(Clone, Copy, Debug)]
pub struct StripeEven;

impl StripeEven {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "stripe-even",
        summary: "stripes dealt so that exactly what fits is on the GPU, spread evenly",
        build: || Box::new(Self),
    };
}

impl Strategy for StripeEven {
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call)) {
        let stripe_bytes = placement.stripe_bytes.max(super::super::PAGE_BYTES);
        let stripes = u128::from(placement.allocation_bytes.div_ceil(stripe_bytes)).max(1);
        let fitting = u128::from(placement.gpu_bytes / stripe_bytes).min(stripes);
        // Bresenham's line: a stripe is on the GPU where the count that is due rises. 128 bits, since both factors
        // can have over 32.
        let dealt = |count: u64| u128::from(count) * fitting / stripes;
        let side_of = |stripe| {
            if dealt(stripe + 1) > dealt(stripe) {
                Side::Gpu
            } else {
                Side::Cpu
            }
        };
        emit_stripes(placement, side_of, emit);
    }
}
