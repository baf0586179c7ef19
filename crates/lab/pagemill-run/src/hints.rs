//! Files of hints for a program on a real GPU: the calls of an answer, or what moved before each launch.

use std::collections::BTreeMap;

use pagemill_gpu::{HintAction, HintCall, HintedAllocation, Hints};
use pagemill_map::{Effect, Map};
use pagemill_policy::residency::{BLOCK_BYTES, Call, PAGE_BYTES, Placement, STRATEGIES};
use pagemill_scenario::CudaPoint;
use pagemill_wire::Hint;

use crate::Outcome;
use crate::advisor::{Answer, Configuration};
use crate::made::Made;

/// A cause of page maps by which nothing moves: memory is allocated where it is first touched.
const FIRST_TOUCH: &str = "first touch";

/// The allocations of the only process that has any.
fn only(processes: &[Vec<Made>]) -> Result<&[Made], String> {
    match processes {
        [made] => Ok(made),
        [] => Err(
            "the program allocates no managed memory, so there is nothing to give hints for"
                .to_owned(),
        ),
        several => Err(format!(
            "{} processes of the program allocate managed memory, and a file of hints counts the allocations of one: give the program \
             that allocates instead of what starts it",
            several.len()
        )),
    }
}

/// The file that makes the program what `configuration` is in the simulation.
///
/// # Errors
/// Several processes allocate managed memory, or a call is none that a file holds.
pub fn of_configuration(
    spec: &CudaPoint,
    answer: &Answer,
    configuration: &Configuration,
) -> Result<Hints, String> {
    let made = only(&answer.made)?;
    let mut calls = site_calls(made, configuration);
    if let Some(mode) = configuration.mode {
        let hinted: Vec<u64> = configuration.hints.iter().map(|hint| hint.site).collect();
        calls.extend(mode_calls(spec, answer, (mode, &hinted))?);
    }
    file(spec, made, calls)
}

/// Calls for single sites, by the place of the allocation among all.
fn site_calls(made: &[Made], configuration: &Configuration) -> Vec<(usize, HintCall)> {
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for (place, allocation) in made.iter().enumerate() {
        let number = seen.entry(allocation.site).or_default();
        let own = configuration
            .hints
            .iter()
            .filter(|hint| hint.site == allocation.site);
        for hint in own {
            let actions: &[HintAction] = match &hint.hint {
                Hint::ReadMostly => &[HintAction::ReadMostly],
                Hint::PreferGpu => &[HintAction::PreferGpu],
                Hint::StayOnCpu => &[HintAction::PreferCpu, HintAction::AccessedByGpu],
                Hint::Prefetch(_) => &[HintAction::PrefetchGpu],
                Hint::LeaveAlone => &[],
            };
            let before = match &hint.hint {
                Hint::Prefetch(launches) => match launches.get(*number).copied().flatten() {
                    Some(launch) => Some(launch),
                    // No kernel used it.
                    None => continue,
                },
                _ => None,
            };
            calls.extend(
                actions
                    .iter()
                    .map(|&action| (place, call(action, before, Vec::new()))),
            );
        }
        *number += 1;
    }
    calls
}

/// The calls of a placement of all memory but that of `hinted` sites: each allocation's before the first launch that anything moved for.
fn mode_calls(
    spec: &CudaPoint,
    answer: &Answer,
    (mode, hinted): (&str, &[u64]),
) -> Result<Vec<(usize, HintCall)>, String> {
    let made = only(&answer.made)?;
    let entry = STRATEGIES.iter().find(|entry| entry.name == mode);
    let entry = entry.ok_or_else(|| format!("{mode} makes no calls that a program could make"))?;
    let placed = || {
        let all = made.iter().enumerate();
        all.filter(|(_, one)| !hinted.contains(&one.site) && !one.is_variable)
    };
    // The driver deals in blocks, so that each allocation begins one.
    let footprint = |bytes: u64| bytes.next_multiple_of(BLOCK_BYTES);
    let placement = Placement {
        allocation_bytes: placed().map(|(_, one)| footprint(one.bytes)).sum(),
        gpu_bytes: answer
            .capacity_bytes
            .map_or(u64::MAX, |bytes| bytes.saturating_sub(answer.fixed_bytes)),
        stripe_bytes: spec
            .transfer
            .driver
            .as_ref()
            .map_or(BLOCK_BYTES, |driver| driver.stripe_bytes),
    };
    let mut parts: Vec<Call> = Vec::new();
    (entry.build)().calls(&placement, &mut |part| parts.push(part));
    let mut calls = Vec::new();
    let mut start = 0;
    for (place, one) in placed() {
        for part in &parts {
            let first = part.bytes.start.max(start) - start;
            let last = part.bytes.end.clamp(start, start + one.bytes) - start;
            if first >= last {
                continue;
            }
            let action = HintAction::of(part.action).ok_or_else(|| {
                format!("{mode} gives up contents, which a file of hints cannot ask for")
            })?;
            let ranges = match (first, last) == (0, one.bytes) {
                true => Vec::new(),
                false => vec![[first, last]],
            };
            calls.push((place, call(action, one.first_launch, ranges)));
        }
        start += footprint(one.bytes);
    }
    Ok(calls)
}

/// The file that copies to the GPU, before each launch, what moved there for it in the simulation.
///
/// # Errors
/// Several processes allocate managed memory, or the page map does not have every move.
pub fn of_moves(spec: &CudaPoint, outcome: &Outcome) -> Result<Hints, String> {
    let made = only(&outcome.made)?;
    let map = Map::decode(&outcome.page_map)
        .map_err(|error| format!("the run has no page map: {error}"))?;
    if map.bands.len() != made.len() {
        return Err(
            "the page map is that of the first process of the program, and another allocates managed memory: give the program that \
             allocates instead of what starts it"
                .to_owned(),
        );
    }
    if map.sampled_bits > 0 || map.full_ps.is_some() {
        return Err(
            "more pages moved than a page map keeps, so that it is not known what moved before each launch: run the program with less \
             data, or find hints for whole allocations by pagemill advise program --hints FILE"
                .to_owned(),
        );
    }
    let mut moved: BTreeMap<(u32, usize), Vec<[u64; 2]>> = BTreeMap::new();
    let arrives = |cause: u8| {
        let cause = map.legend.causes.get(usize::from(cause));
        cause.is_some_and(|cause| cause.effect == Effect::Arrive && cause.name != FIRST_TOUCH)
    };
    for (page, events) in &map.pages {
        let address = page * map.page_bytes;
        let Some(place) = map
            .bands
            .iter()
            .position(|band| (band.address..band.address + band.bytes).contains(&address))
        else {
            continue;
        };
        let (band, bytes) = (
            &map.bands[place],
            made.get(place).map_or(0, |one| one.bytes),
        );
        for event in events
            .iter()
            .filter(|event| event.launch > 0 && arrives(event.cause))
        {
            // A driver moves pages of 4 KiB, and no less.
            let start = address - band.address + u64::from(event.first);
            let end = (start + u64::from(event.bytes)).next_multiple_of(PAGE_BYTES);
            let (first, last) = (start / PAGE_BYTES * PAGE_BYTES, end.min(bytes));
            if first < last {
                moved
                    .entry((event.launch, place))
                    .or_default()
                    .push([first, last]);
            }
        }
    }
    if moved.is_empty() {
        return Err(format!(
            "nothing moved to the GPU for a launch under {}: choose multi-range, single-range, whole-page, or on-demand",
            spec.transfer.mode
        ));
    }
    let calls = moved.into_iter().map(|((launch, place), ranges)| {
        (
            place,
            call(HintAction::PrefetchGpu, Some(launch - 1), joined(ranges)),
        )
    });
    file(spec, made, calls.collect())
}

/// A call before a launch that is counted from 0; its allocation is known later.
fn call(action: HintAction, before: Option<u32>, ranges: Vec<[u64; 2]>) -> HintCall {
    HintCall {
        allocation: 0,
        action,
        before_launch: before.map(|launch| launch + 1),
        ranges,
    }
}

/// `ranges` in order, those that touch as one.
fn joined(mut ranges: Vec<[u64; 2]>) -> Vec<[u64; 2]> {
    ranges.sort_unstable();
    let mut all: Vec<[u64; 2]> = Vec::new();
    for [first, last] in ranges {
        match all.last_mut() {
            Some(before) if before[1] >= first => before[1] = before[1].max(last),
            _ => all.push([first, last]),
        }
    }
    all
}

/// The file with `calls`, each for the allocation at its place in `made`. Variables are counted by no driver.
fn file(spec: &CudaPoint, made: &[Made], calls: Vec<(usize, HintCall)>) -> Result<Hints, String> {
    let mut numbers = Vec::with_capacity(made.len());
    let mut allocated = 0;
    for one in made {
        allocated += u32::from(!one.is_variable);
        numbers.push((!one.is_variable).then_some(allocated));
    }
    if let Some((place, _)) = calls.iter().find(|(place, _)| numbers[*place].is_none()) {
        return Err(format!(
            "{} is a __managed__ variable, which a library in front of the driver does not see: allocate it by cudaMallocManaged",
            pagemill_sim::managed_name(place + 1)
        ));
    }
    let with_calls: Vec<usize> = (0..made.len())
        .filter(|place| calls.iter().any(|(own, _)| own == place))
        .collect();
    let allocations = with_calls.into_iter().filter_map(|place| {
        Some(HintedAllocation {
            number: numbers[place]?,
            bytes: made[place].bytes,
            name: pagemill_sim::managed_name(place + 1),
        })
    });
    Ok(Hints {
        program: spec.command.join(" "),
        machine: spec.machine.name.clone(),
        allocations: allocations.collect(),
        calls: calls
            .into_iter()
            .filter_map(|(place, call)| {
                Some(HintCall {
                    allocation: numbers[place]?,
                    ..call
                })
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests;
