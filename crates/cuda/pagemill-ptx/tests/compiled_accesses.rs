//! Loads and stores of every width at every pattern of addresses, guarded or not: machine code against the interpreter.

use pagemill_ptx::{
    Block, DeviceMemory, Executor, FunctionalTotals, InstructionCosts, LanePlaces, Launch,
    MemoryAccess, Module, Output, Step, StepEnd, Trap, run_functional,
};
use proptest::prelude::*;
use std::fmt::Write;

const THREADS: u32 = 72;
/// Places that indices reach.
const PLACES: u32 = 128;

/// PTX type, bytes of an element, registers, and whether those are 64-bit ones.
const TYPES: [(&str, u32, usize, bool); 14] = [
    ("u8", 1, 1, false),
    ("s8", 1, 1, false),
    ("u16", 2, 1, false),
    ("s16", 2, 1, false),
    ("u32", 4, 1, false),
    ("u8", 1, 1, true),
    ("s16", 2, 1, true),
    ("u32", 4, 1, true),
    ("s32", 4, 1, true),
    ("u64", 8, 1, true),
    ("v2.u32", 4, 2, false),
    ("v4.u32", 4, 4, false),
    ("v2.u64", 8, 2, true),
    ("v4.u8", 1, 4, false),
];

/// How a thread's place follows from its number.
#[derive(Clone, Copy, Debug)]
enum Places {
    Row(u32),
    One(u32),
    /// A multiple of the thread's number.
    Stride(u32),
}

#[derive(Clone, Debug)]
struct Access {
    of: usize,
    is_load: bool,
    is_shared: bool,
    places: Places,
    /// Bit of the thread's number that must be set.
    guard: Option<u32>,
}

fn access() -> impl Strategy<Value = Access> {
    let places = prop_oneof![
        (0..32u32).prop_map(Places::Row),
        (0..PLACES).prop_map(Places::One),
        (2..40u32).prop_map(Places::Stride),
    ];
    let guard = prop::option::weighted(0.4, 0..8u32);
    (0..TYPES.len(), any::<[bool; 2]>(), places, guard).prop_map(
        |(of, [is_load, is_shared], places, guard)| Access {
            of,
            is_load,
            is_shared,
            places,
            guard,
        },
    )
}

fn statements(access: &Access) -> String {
    let (name, bytes, count, is_wide) = TYPES[access.of];
    let index = match access.places {
        Places::Row(first) => format!("add.u32 %r1, %r0, {first};"),
        Places::One(place) => format!("mov.u32 %r1, {place};"),
        Places::Stride(step) => {
            format!(
                "mul.lo.u32 %r1, %r0, {step};\nand.b32 %r1, %r1, {};",
                PLACES - 1
            )
        }
    };
    let lane_bytes = bytes * count as u32;
    let (space, base) = match access.is_shared {
        true => ("shared", "%d4"),
        false => ("global", "%d1"),
    };
    let mut text = format!(
        "{index}\nmul.wide.u32 %d2, %r1, {lane_bytes};\nadd.u64 %d2, {base}, %d2;\ncvt.u32.u64 %r3, %d2;\n"
    );
    let place = if access.is_shared { "[%r3]" } else { "[%d2]" };
    let guard = match access.guard {
        Some(bit) => {
            let _ = writeln!(
                text,
                "and.b32 %r2, %r0, {};\nsetp.ne.u32 %p1, %r2, 0;",
                1 << bit
            );
            "@%p1 "
        }
        None => "",
    };
    let letter = if is_wide { 'w' } else { 'n' };
    let names: Vec<String> = (0..count).map(|at| format!("%{letter}{at}")).collect();
    let operand = match count {
        1 => names[0].clone(),
        _ => format!("{{{}}}", names.join(", ")),
    };
    let _ = match access.is_load {
        true => writeln!(text, "{guard}ld.{space}.{name} {operand}, {place};"),
        false => writeln!(text, "{guard}st.{space}.{name} {place}, {operand};"),
    };
    // What was loaded changes what is stored from now on.
    text.push_str(
        "xor.b32 %n1, %n0, %n1;\nadd.u32 %n2, %n1, %n3;\nshf.l.wrap.b32 %n3, %n2, %n0, 7;\n",
    );
    text.push_str("add.u64 %w1, %w0, %w1;\ncvt.u64.u32 %w2, %n3;\nxor.b64 %w3, %w2, %w1;\nadd.u64 %w0, %w0, %w3;\n");
    text.push_str("cvt.u32.u64 %r4, %w3;\nadd.u32 %n0, %r4, %n2;\n");
    text
}

fn ptx(accesses: &[Access]) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 out)\n{\n\
         .reg .b32 %r<8>; .reg .b32 %n<4>; .reg .b64 %w<4>; .reg .b64 %d<8>; .reg .pred %p<4>;\n\
         .shared .align 16 .b8 own[4096];\n\
         ld.param.u64 %d1, [data];\nld.param.u64 %d3, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r5, own;\ncvt.u64.u32 %d4, %r5;\n\
         mul.lo.u32 %n0, %r0, 2654435769;\nadd.u32 %n1, %n0, 1;\nadd.u32 %n2, %n0, 2;\nadd.u32 %n3, %n0, 3;\n\
         cvt.u64.u32 %w0, %n0;\nmul.lo.u64 %w1, %w0, 12345678912345;\nadd.u64 %w2, %w1, 1;\nadd.u64 %w3, %w1, 2;\n\
         mov.u32 %r6, 3;\nL:\n",
    );
    accesses
        .iter()
        .for_each(|access| text.push_str(&statements(access)));
    text.push_str(
        "sub.u32 %r6, %r6, 1;\nsetp.ne.u32 %p2, %r6, 0;\n@%p2 bra L;\n\
         mul.wide.u32 %d2, %r0, 16;\nadd.u64 %d2, %d3, %d2;\nst.global.u64 [%d2], %w0;\nst.global.u32 [%d2+8], %n0;\nret;\n}\n",
    );
    text
}

/// All bytes after a run, and its counts; of a stepped one, also what each step said.
type Outcome = (Vec<u8>, FunctionalTotals, Vec<String>);

fn run(text: &str, executor: Executor, stepped: bool) -> Outcome {
    let module =
        Module::load("accesses.ptx", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).expect("there are no variables");
    let bytes = u64::from(16 * PLACES + 16 * 32);
    let data = memory.alloc("data", bytes, 256).expect("there is room");
    let out = memory
        .alloc("out", 16 * u64::from(THREADS), 256)
        .expect("there is room");
    for (number, byte) in memory
        .bytes_mut(data, bytes)
        .expect("inside")
        .iter_mut()
        .enumerate()
    {
        *byte = (number * 197 + number / 7) as u8;
    }
    let arguments = [data.to_le_bytes(), out.to_le_bytes()].concat();
    let kernel = module.kernel("k").expect("it is there");
    let launch = Launch::new(
        &module,
        &linked,
        kernel,
        [2, 1, 1],
        [THREADS, 1, 1],
        0,
        &arguments,
    )
    .expect("it can be launched")
    .with_executor(executor);
    let mut steps = Vec::new();
    let totals = match stepped {
        true => run_stepped(&launch, &mut memory, &mut steps),
        false => run_functional(&launch, &mut memory, &mut Output::default()),
    };
    let totals = totals.unwrap_or_else(|trap| panic!("{trap}\n{text}"));
    let mut all = memory.bytes(data, bytes).expect("inside").to_vec();
    all.extend(memory.bytes(out, 16 * u64::from(THREADS)).expect("inside"));
    (all, totals, steps)
}

/// Runs the warps of each block in turns, step by step.
fn run_stepped(
    launch: &Launch,
    memory: &mut DeviceMemory,
    steps: &mut Vec<String>,
) -> Result<FunctionalTotals, Box<Trap>> {
    let costs = InstructionCosts::new(launch.kernel(), |index, _| {
        (index as u32 % 5 + 1, index as u32 % 7)
    });
    let mut block = Block::new(launch);
    let mut step = Step::default();
    let mut totals = FunctionalTotals::default();
    for index in 0..launch.blocks() {
        block.start(launch, index);
        while !block.is_finished() {
            for warp in 0..launch.warps_per_block() {
                block.advance(launch, warp, memory, &costs, 100, &mut step)?;
                totals.instructions += step.totals.instructions;
                totals.thread_instructions += step.totals.thread_instructions;
                let announced = (step.end == StepEnd::Memory).then(|| {
                    let lanes = (0..32).filter(|lane| step.access.mask >> lane & 1 != 0);
                    let addresses: Vec<u64> = lanes.map(|lane| step.access.address(lane)).collect();
                    let addressless = MemoryAccess {
                        listed: [0; 32],
                        places: LanePlaces::Listed,
                        ..step.access
                    };
                    (addressless, addresses)
                });
                steps.push(format!("{:?} {:?} {announced:?}", step.totals, step.end));
            }
        }
    }
    Ok(totals)
}

/// How many kernels; a long run sets more.
fn cases() -> u32 {
    let cases = std::env::var("PAGEMILL_NATIVE_CASES").ok();
    cases.and_then(|text| text.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accesses_give_the_same_bytes(accesses in prop::collection::vec(access(), 1..12)) {
        let text = ptx(&accesses);
        for stepped in [false, true] {
            let wanted = run(&text, Executor::Interpreter, stepped);
            let found = run(&text, Executor::Compiled, stepped);
            prop_assert!(found.0 == wanted.0, "{}", text);
            prop_assert_eq!(found.1, wanted.1, "{}", text);
            for (found, wanted) in found.2.iter().zip(&wanted.2) {
                prop_assert_eq!(found, wanted, "{}", text);
            }
            prop_assert_eq!(found.2.len(), wanted.2.len());
        }
    }
}
