//! Every launch once more, step by step as a timing model drives it: several blocks at once, their warps taking turns.

use pagemill_ptx::{
    AccessSpace, Block, DeviceMemory, InstructionCosts, Launch, Step, StepEnd, StepTotals, Trap,
};

use crate::seen::{Seen, see};

/// Blocks that run at the same time.
const PLACES: u64 = 3;
/// Instructions of a warp's turn.
const BUDGET: u32 = 40;

/// Kernels whose result or instruction count depends on the order in which warps run.
const ORDER_DEPENDENT: [&str; 24] = [
    "exchange",
    "swap",
    "shared_swap",
    "spin_lock",
    "counted_lock",
    "ticket_lock",
    "producers",
    "there_and_back",
    "together_again",
    "heap_lists",
    "heap_fill",
    "phase_relay",
    "phase_stages",
    "phase_leaving",
    "phase_copies",
    "pairs",
    "cluster_lock",
    "cluster_messages",
    "cluster_async",
    "bulk_stages",
    "bulk_guarded",
    "bulk_exchange",
    "bulk_multicast",
    "tensor_multicast",
];

/// One resident block.
struct Place {
    block: Block,
    running: bool,
}

/// Runs `launch` on `memory` step by step, and notes in `steps` what each step said.
pub fn run_stepped(
    launch: &Launch,
    memory: &mut DeviceMemory,
    steps: &mut Vec<Seen>,
) -> Result<StepTotals, Box<Trap>> {
    let costs = InstructionCosts::new(launch.kernel(), |_, _| (1, 3));
    let place = |number| Place {
        block: Block::at_place(launch, number as u32),
        running: false,
    };
    // Blocks of a cluster start together.
    let together = u64::from(launch.cluster_blocks());
    let count = PLACES.min(launch.blocks()).max(together) / together * together;
    let mut places: Vec<Place> = (0..count).map(place).collect();
    let clusters = 0..launch.blocks() / together;
    let mut waiting = clusters.flat_map(|cluster| {
        (0..together).map(move |rank| launch.block_of_cluster(cluster, rank as u32))
    });
    let (mut totals, mut step) = (StepTotals::default(), Step::default());
    loop {
        for members in places.chunks_mut(together as usize) {
            if members.iter().any(|place| place.running) {
                continue;
            }
            for (place, index) in members.iter_mut().zip(&mut waiting) {
                place.block.start(launch, index);
                place.running = true;
            }
        }
        if !places.iter().any(|place| place.running) {
            return Ok(totals);
        }
        for place in places.iter_mut().filter(|place| place.running) {
            // The last warp first, unlike the functional run.
            for warp in (0..launch.warps_per_block()).rev() {
                place
                    .block
                    .advance(launch, warp, memory, &costs, BUDGET, &mut step)?;
                totals.add(&step.totals);
                check(&step, memory);
                steps.push(see(&step));
            }
            place.running = !place.block.is_finished();
        }
    }
}

/// What must hold of every step.
fn check(step: &Step, memory: &DeviceMemory) {
    assert_eq!(step.totals.issue_cycles, step.totals.instructions);
    assert_eq!(step.totals.latency_cycles, 3 * step.totals.instructions);
    assert!(step.totals.thread_instructions <= 32 * step.totals.instructions);
    if step.end != StepEnd::Memory {
        return;
    }
    let access = &step.access;
    assert!(access.mask != 0 && access.lane_bytes > 0, "{access:?}");
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 == 1) {
        let address = access.address(lane);
        let allocated = memory.bytes(address, access.lane_bytes.into()).is_ok();
        assert!(
            allocated || access.space == AccessSpace::Local,
            "{access:?}"
        );
    }
}

/// Compares a stepped run with the functional one: the same end, the same counts, the same memory.
pub fn compare(
    launch: &Launch,
    stepped: (&Result<StepTotals, Box<Trap>>, &DeviceMemory),
    functional: (Result<(u64, u64), &Trap>, &DeviceMemory),
) {
    let name = &launch.kernel().name;
    match (stepped.0, functional.0) {
        (Ok(totals), Ok(counts)) if !ORDER_DEPENDENT.contains(&name.as_str()) => {
            assert_eq!(
                (totals.instructions, totals.thread_instructions),
                counts,
                "instructions of {name}"
            );
            for allocation in functional.1.allocations() {
                let bytes = |memory: &DeviceMemory| {
                    memory
                        .bytes(allocation.address(), allocation.bytes())
                        .map(<[u8]>::to_vec)
                };
                assert_eq!(
                    bytes(stepped.1),
                    bytes(functional.1),
                    "{} after {name}",
                    allocation.name()
                );
            }
        }
        (Ok(_), Ok(_)) => {}
        // Which warp is caught first depends on who runs first.
        (Err(trap), Err(wanted)) => {
            let kind = std::mem::discriminant(&trap.kind);
            assert_eq!(
                kind,
                std::mem::discriminant(&wanted.kind),
                "{trap} and {wanted}"
            );
        }
        (Ok(_), Err(trap)) => panic!("{name} ends when stepped, but: {trap}"),
        (Err(trap), Ok(_)) => panic!("{name} ends, but when stepped: {trap}"),
    }
}
