//! Where data lives: what the driver is told about it, and when it is moved.

use std::ops::Range;

use crate::gpu::{Advice, Place};

/// How data that is larger than GPU memory is made readable for the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Nothing is said: pages move when the GPU faults on them.
    OnDemand,
    /// Everything stays in the CPU's memory, mapped for the GPU.
    ZeroCopy,
    /// Granules are dealt to GPU and CPU in turn; those of the CPU are mapped for the GPU.
    Stripe,
    /// Everything is mapped for the GPU and moved there once; what does not fit goes back.
    BulkPrefetch,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 4] = [
        Self::OnDemand,
        Self::ZeroCopy,
        Self::Stripe,
        Self::BulkPrefetch,
    ];

    /// Its name in rows and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::ZeroCopy => "zero-copy",
            Self::Stripe => "stripe",
            Self::BulkPrefetch => "bulk-prefetch",
        }
    }
}

/// One call to the driver about a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Tell it something.
    Advise(Range<u64>, Advice),
    /// Move it.
    Prefetch(Range<u64>, Place),
}

/// What a strategy does with one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Once, before the first repetition.
    pub first: Vec<Step>,
    /// Before every repetition.
    pub every: Vec<Step>,
}

/// Sizes that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The data.
    pub data_bytes: u64,
    /// GPU memory that the factor is relative to.
    pub gpu_bytes: u64,
    /// Part of it that data may take: the driver needs some for its own.
    pub room_bytes: u64,
    /// What is dealt to GPU and CPU in turn.
    pub granule_bytes: u64,
}

/// What `strategy` does.
///
/// Every repetition starts with all data in the CPU's memory, but for [`Strategy::BulkPrefetch`], which moves it once.
pub fn plan(strategy: Strategy, sizes: Sizes) -> Plan {
    let all = 0..sizes.data_bytes;
    let to_cpu = Step::Prefetch(all.clone(), Place::Cpu);
    match strategy {
        Strategy::OnDemand => Plan {
            first: Vec::new(),
            every: vec![to_cpu],
        },
        Strategy::ZeroCopy => Plan {
            first: vec![
                Step::Advise(all.clone(), Advice::PreferredLocation(Place::Cpu)),
                Step::Advise(all, Advice::AccessedByGpu),
            ],
            every: vec![to_cpu],
        },
        Strategy::BulkPrefetch => Plan {
            first: vec![
                Step::Advise(all.clone(), Advice::AccessedByGpu),
                Step::Prefetch(all, Place::Gpu),
            ],
            every: Vec::new(),
        },
        Strategy::Stripe => stripe_plan(sizes, to_cpu),
    }
}

fn stripe_plan(sizes: Sizes, to_cpu: Step) -> Plan {
    let mut plan = Plan {
        first: Vec::new(),
        every: vec![to_cpu],
    };
    for (range, place) in stripes(sizes) {
        plan.first.push(Step::Advise(
            range.clone(),
            Advice::PreferredLocation(place),
        ));
        if place == Place::Cpu {
            plan.first
                .push(Step::Advise(range.clone(), Advice::AccessedByGpu));
        } else {
            plan.every.push(Step::Prefetch(range, place));
        }
    }
    plan
}

/// The granules dealt in turn, those of one place that follow each other as one range.
///
/// With a factor `f` of data over GPU memory, every `round(f / (f - 1))`-th granule goes to the CPU up to `f = 2`, and every
/// `round(f)`-th goes to the GPU past it, as in the published benchmark; a full GPU gets no more.
pub fn stripes(sizes: Sizes) -> Vec<(Range<u64>, Place)> {
    let Sizes {
        data_bytes,
        granule_bytes,
        ..
    } = sizes;
    let gpu_granules_max = sizes.room_bytes / granule_bytes;
    let turn = Turn::of(data_bytes as f64 / sizes.gpu_bytes.max(1) as f64);
    let mut gpu_granules = 0;
    let mut stripes: Vec<(Range<u64>, Place)> = Vec::new();
    for granule in 0..data_bytes.div_ceil(granule_bytes) {
        let mut place = turn.place(granule);
        if place == Place::Gpu && gpu_granules == gpu_granules_max {
            place = Place::Cpu;
        }
        gpu_granules += u64::from(place == Place::Gpu);
        let start = granule * granule_bytes;
        let end = (start + granule_bytes).min(data_bytes);
        match stripes.last_mut() {
            Some((range, last)) if *last == place => range.end = end,
            _ => stripes.push((start..end, place)),
        }
    }
    stripes
}

/// Which granule differs from the others.
struct Turn {
    period: u64,
    odd_one: Place,
    others: Place,
}

impl Turn {
    fn of(factor: f64) -> Self {
        let cpu_share = factor - 1.0;
        if cpu_share <= 0.0 {
            return Self {
                period: u64::MAX,
                odd_one: Place::Cpu,
                others: Place::Gpu,
            };
        }
        if cpu_share > 1.0 {
            return Self {
                period: factor.round() as u64,
                odd_one: Place::Gpu,
                others: Place::Cpu,
            };
        }
        Self {
            period: (factor / cpu_share).round() as u64,
            odd_one: Place::Cpu,
            others: Place::Gpu,
        }
    }

    fn place(&self, granule: u64) -> Place {
        if granule != 0 && granule.is_multiple_of(self.period) {
            self.odd_one
        } else {
            self.others
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, prop_assert_ne, proptest};

    use super::*;
    use crate::MIB;

    const GRANULE: u64 = 2 * MIB;

    fn sizes(granules: u64, gpu_granules: u64) -> Sizes {
        Sizes {
            data_bytes: granules * GRANULE,
            gpu_bytes: gpu_granules * GRANULE,
            room_bytes: gpu_granules * GRANULE,
            granule_bytes: GRANULE,
        }
    }

    /// The place of each granule, one letter each.
    fn dealt(sizes: Sizes) -> String {
        let granules = |(range, place): (Range<u64>, Place)| {
            let letter = match place {
                Place::Cpu => "c",
                Place::Gpu => "G",
            };
            letter.repeat((range.end - range.start).div_ceil(sizes.granule_bytes) as usize)
        };
        stripes(sizes).into_iter().map(granules).collect()
    }

    #[test]
    fn granules_are_dealt_as_published() {
        assert_eq!(dealt(sizes(8, 10)), "GGGGGGGG");
        // Factor 1.5: every third granule; factor 2: every second; the first one never.
        assert_eq!(dealt(sizes(12, 8)), "GGGcGGcGGcGc");
        assert_eq!(dealt(sizes(8, 4)), "GGcGcGcc");
        // Factor 3: every third is the GPU's.
        assert_eq!(dealt(sizes(12, 4)), "cccGccGccGcc");
        // Factor 1.4: 1.4 / 0.4 rounds to 4, so fewer granules than should go to the CPU in turn; the rest goes at the end.
        assert_eq!(dealt(sizes(14, 10)), "GGGGcGGGcGGGcc");
    }

    proptest! {
        #[test]
        fn every_byte_has_one_place_and_the_gpu_is_not_overfilled(
            data_bytes in 1_u64..500 * MIB,
            gpu_bytes in 1_u64..300 * MIB,
            kept_bytes in 0_u64..64 * MIB,
            shift in 12_u32..22,
        ) {
            let sizes = Sizes {
                data_bytes,
                gpu_bytes,
                room_bytes: gpu_bytes.saturating_sub(kept_bytes),
                granule_bytes: 1 << shift,
            };
            let mut end = 0;
            let mut last = None;
            let mut on_gpu = 0;
            for (range, place) in stripes(sizes) {
                prop_assert_eq!(range.start, end);
                prop_assert!(range.start < range.end);
                prop_assert_ne!(last, Some(place), "neighbours of one place are one range");
                end = range.end;
                last = Some(place);
                if place == Place::Gpu {
                    on_gpu += (range.end - range.start).next_multiple_of(sizes.granule_bytes);
                }
            }
            prop_assert_eq!(end, data_bytes);
            prop_assert!(on_gpu <= sizes.room_bytes);
        }
    }

    #[test]
    fn only_bulk_prefetch_leaves_data_where_it_is() {
        for strategy in Strategy::ALL {
            let plan = plan(strategy, sizes(12, 8));
            let to_cpu = Step::Prefetch(0..12 * GRANULE, Place::Cpu);
            assert_eq!(
                plan.every.first() == Some(&to_cpu),
                strategy != Strategy::BulkPrefetch
            );
        }
    }

    #[test]
    fn what_stays_on_the_cpu_is_mapped_for_the_gpu() {
        for strategy in [Strategy::ZeroCopy, Strategy::Stripe] {
            let plan = plan(strategy, sizes(12, 8));
            let told = |advice| -> Vec<Range<u64>> {
                let ranges = plan.first.iter().filter_map(|step| match step {
                    Step::Advise(range, told) if *told == advice => Some(range.clone()),
                    _ => None,
                });
                ranges.collect()
            };
            assert_eq!(
                told(Advice::PreferredLocation(Place::Cpu)),
                told(Advice::AccessedByGpu)
            );
        }
    }
}
