use super::{Action, Call, Placement, Side, Strategy, StrategyEntry};

/// Deals stripes to GPU and CPU in turn, in the published rounding.
#[derive(Clone, Copy, Debug)]
pub struct Stripe;

impl Stripe {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "stripe",
        summary: "stripes dealt to GPU and CPU in turn, in whole numbers as published",
        build: || Box::new(Self),
    };
}

impl Strategy for Stripe {
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call)) {
        let rule = Rule::of(placement);
        emit_stripes(placement, |stripe| rule.side(stripe), emit);
    }
}

/// Every `period`-th stripe but the very first is on `turn`, all others on the other side.
struct Rule {
    period: u64,
    turn: Side,
}

impl Rule {
    fn of(placement: &Placement) -> Self {
        let (allocation, gpu) = (placement.allocation_bytes, placement.gpu_bytes.max(1));
        if allocation <= gpu {
            return Self {
                period: u64::MAX,
                turn: Side::Cpu,
            };
        }
        // The rarer side takes turns: at a factor of 1.5 every third stripe is on the CPU, at 2.0 every second (Garg
        // 2021), beyond that every n-th is on the GPU. Rounding the period can deal the GPU more than fits;
        // `emit_stripes` stops when it is full.
        let over = allocation - gpu;
        if over > gpu {
            return Self {
                period: rounded(allocation, gpu),
                turn: Side::Gpu,
            };
        }
        Self {
            period: rounded(allocation, over),
            turn: Side::Cpu,
        }
    }

    fn side(&self, stripe: u64) -> Side {
        let takes_turn = stripe != 0 && stripe.is_multiple_of(self.period);
        match (takes_turn, self.turn) {
            (true, side) => side,
            (false, Side::Cpu) => Side::Gpu,
            (false, Side::Gpu) => Side::Cpu,
        }
    }
}

fn rounded(dividend: u64, divisor: u64) -> u64 {
    (dividend + divisor / 2) / divisor
}

/// Makes the calls for stripes on the given sides; once GPU memory is full, the rest stays in CPU memory.
/// Neighboring stripes of one side share their calls.
pub(super) fn emit_stripes(
    placement: &Placement,
    side_of: impl Fn(u64) -> Side,
    emit: &mut dyn FnMut(Call),
) {
    let stripe_bytes = placement.stripe_bytes.max(super::super::PAGE_BYTES);
    let stripes = placement.allocation_bytes.div_ceil(stripe_bytes);
    let mut room = placement.gpu_bytes / stripe_bytes;
    let mut run = 0..0;
    let mut run_side = Side::Cpu;
    for stripe in 0..stripes {
        let wished = side_of(stripe);
        let side = if room == 0 { Side::Cpu } else { wished };
        room -= u64::from(side == Side::Gpu);
        let start = stripe * stripe_bytes;
        let end = (start + stripe_bytes).min(placement.allocation_bytes);
        if side == run_side {
            run.end = end;
        } else {
            place(run, run_side, emit);
            run = start..end;
            run_side = side;
        }
    }
    place(run, run_side, emit);
}

fn place(bytes: std::ops::Range<u64>, side: Side, emit: &mut dyn FnMut(Call)) {
    if bytes.is_empty() {
        return;
    }
    let mut call = |action| {
        emit(Call {
            bytes: bytes.clone(),
            action,
        });
    };
    call(Action::Prefetch(side));
    call(Action::PreferredLocation(side));
    if side == Side::Cpu {
        call(Action::AccessedByGpu);
    }
}
