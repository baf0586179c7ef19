//! Random programs against an interpreter that knows one thread and nothing of warps: the same memory, the same
//! number of executed instructions, whether run in one go or step by step, whatever the order of warps.

use pagemill_ptx::{
    AccessKind, Block, DeviceMemory, Executor, InstructionCosts, IssueOrder, Launch, Module,
    Output, Step, StepEnd, run_functional,
};
use proptest::prelude::*;

use crate::seen::{Seen, see};

const REGISTERS: usize = 6;
const PREDICATES: usize = 3;
const LOOPS: usize = 3;
/// Words of global and of shared memory that each thread has for itself.
const WORDS: u32 = 16;

/// One PTX instruction of the little language.
#[derive(Clone, Debug)]
enum Inst {
    Arithmetic {
        op: Op,
        dst: usize,
        a: usize,
        b: Source,
    },
    Compare {
        dst: usize,
        less: bool,
        a: usize,
        b: Source,
    },
    Select {
        dst: usize,
        a: usize,
        b: usize,
        predicate: usize,
    },
    Load {
        shared: bool,
        dst: usize,
        word: u32,
    },
    Store {
        shared: bool,
        src: usize,
        word: u32,
    },
    /// Loads or stores two registers at once.
    Pair {
        shared: bool,
        is_load: bool,
        registers: [usize; 2],
        word: u32,
    },
    Branch {
        label: usize,
    },
    /// Sets a loop counter.
    Begin {
        counter: usize,
        rounds: u32,
    },
    Decrement {
        counter: usize,
    },
    /// Sets the last predicate if the counter is positive.
    Test {
        counter: usize,
    },
    Exit,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Xor,
    Shift,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Register(usize),
    Number(u32),
    Thread,
}

/// An instruction with its guard, and the labels that stand before it.
#[derive(Clone, Debug)]
struct Line {
    labels: Vec<usize>,
    guard: Option<(usize, bool)>,
    inst: Inst,
}

#[derive(Clone, Debug, Default)]
struct Program {
    lines: Vec<Line>,
    labels: usize,
    /// Labels of the end.
    last: Vec<usize>,
}

impl Program {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn push(&mut self, guard: Option<(usize, bool)>, inst: Inst) {
        let labels = std::mem::take(&mut self.last);
        self.lines.push(Line {
            labels,
            guard,
            inst,
        });
    }

    fn mark(&mut self, label: usize) {
        self.last.push(label);
    }
}

/// A stretch of code as it is generated; jumps in it go forward only, loops are bounded by their counters.
#[derive(Clone, Debug)]
enum Piece {
    Plain(Option<(usize, bool)>, Inst),
    If(usize, Vec<Piece>, Vec<Piece>),
    Loop(u32, Vec<Piece>),
    /// Leaves `levels` enclosing pieces at once.
    Escape((usize, bool), usize),
    Exit((usize, bool)),
}

fn emit(program: &mut Program, pieces: &[Piece], ends: &mut Vec<usize>, depth: usize) {
    for piece in pieces {
        match piece {
            Piece::Plain(guard, inst) => program.push(*guard, inst.clone()),
            Piece::If(predicate, yes, no) => {
                let (other, end) = (program.label(), program.label());
                ends.push(end);
                program.push(Some((*predicate, true)), Inst::Branch { label: other });
                emit(program, yes, ends, depth);
                program.push(None, Inst::Branch { label: end });
                program.mark(other);
                emit(program, no, ends, depth);
                ends.pop();
                program.mark(end);
            }
            Piece::Loop(rounds, body) if depth < LOOPS => {
                let (top, end) = (program.label(), program.label());
                ends.push(end);
                program.push(
                    None,
                    Inst::Begin {
                        counter: depth,
                        rounds: *rounds,
                    },
                );
                program.mark(top);
                emit(program, body, ends, depth + 1);
                program.push(None, Inst::Decrement { counter: depth });
                program.push(None, Inst::Test { counter: depth });
                program.push(Some((PREDICATES, false)), Inst::Branch { label: top });
                ends.pop();
                program.mark(end);
            }
            Piece::Loop(_, body) => emit(program, body, ends, depth),
            Piece::Escape(guard, levels) => {
                if let Some(&label) = ends.iter().rev().nth(*levels).or(ends.first()) {
                    program.push(Some(*guard), Inst::Branch { label });
                }
            }
            Piece::Exit(guard) => program.push(Some(*guard), Inst::Exit),
        }
    }
}

fn whole(pieces: &[Piece]) -> Program {
    let mut program = Program::default();
    let end = program.label();
    emit(&mut program, pieces, &mut vec![end], 0);
    program.mark(end);
    // What the registers hold at the end is part of the result.
    for register in 0..REGISTERS {
        program.push(
            None,
            Inst::Store {
                shared: false,
                src: register,
                word: register as u32,
            },
        );
    }
    program.push(None, Inst::Exit);
    program
}

fn ptx(program: &Program) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .b32 %r<16>; .reg .b32 %c<8>; .reg .pred %p<8>; .reg .b64 %d<8>; .reg .b32 %s<8>;\n\
         .shared .align 4 .b8 own[8192];\n\
         ld.param.u64 %d0, [out];\nmov.u32 %s0, %ctaid.x;\nmov.u32 %s1, %ntid.x;\nmov.u32 %s2, %tid.x;\n\
         mad.lo.u32 %s3, %s0, %s1, %s2;\nmul.wide.u32 %d1, %s3, 64;\nadd.u64 %d2, %d0, %d1;\n\
         mov.u32 %s4, own;\nmad.lo.u32 %s5, %s2, 64, %s4;\n",
    );
    for line in &program.lines {
        line.labels.iter().for_each(|label| {
            text.push_str(&format!(
                "L{label}:
"
            ))
        });
        if let Some((predicate, negated)) = line.guard {
            text.push_str(&format!(
                "@{}%p{predicate} ",
                if negated { "!" } else { "" }
            ));
        }
        text.push_str(&statement(&line.inst));
        text.push('\n');
    }
    text.push_str("}\n");
    text
}

fn statement(inst: &Inst) -> String {
    let source = |source: &Source| match source {
        Source::Register(register) => format!("%r{register}"),
        Source::Number(value) => value.to_string(),
        Source::Thread => "%s3".to_owned(),
    };
    match inst {
        Inst::Arithmetic { op, dst, a, b } => {
            let name = match op {
                Op::Add => "add.u32",
                Op::Sub => "sub.u32",
                Op::Mul => "mul.lo.u32",
                Op::Xor => "xor.b32",
                Op::Shift => "shl.b32",
            };
            format!("{name} %r{dst}, %r{a}, {};", source(b))
        }
        Inst::Compare { dst, less, a, b } => {
            format!(
                "setp.{}.u32 %p{dst}, %r{a}, {};",
                if *less { "lt" } else { "eq" },
                source(b)
            )
        }
        Inst::Select {
            dst,
            a,
            b,
            predicate,
        } => format!("selp.b32 %r{dst}, %r{a}, %r{b}, %p{predicate};"),
        Inst::Load {
            shared: false,
            dst,
            word,
        } => format!("ld.global.u32 %r{dst}, [%d2+{}];", 4 * word),
        Inst::Load {
            shared: true,
            dst,
            word,
        } => format!("ld.shared.u32 %r{dst}, [%s5+{}];", 4 * word),
        Inst::Store {
            shared: false,
            src,
            word,
        } => format!("st.global.u32 [%d2+{}], %r{src};", 4 * word),
        Inst::Store {
            shared: true,
            src,
            word,
        } => format!("st.shared.u32 [%s5+{}], %r{src};", 4 * word),
        Inst::Pair {
            shared,
            is_load,
            registers: [low, high],
            word,
        } => {
            let (space, base) = match shared {
                true => ("shared", "%s5"),
                false => ("global", "%d2"),
            };
            let (place, pair) = (
                format!("[{base}+{}]", 4 * word),
                format!("{{%r{low}, %r{high}}}"),
            );
            match is_load {
                true => format!("ld.{space}.v2.u32 {pair}, {place};"),
                false => format!("st.{space}.v2.u32 {place}, {pair};"),
            }
        }
        Inst::Branch { label } => format!("bra L{label};"),
        Inst::Begin { counter, rounds } => format!("mov.u32 %c{counter}, {rounds};"),
        Inst::Decrement { counter } => format!("add.s32 %c{counter}, %c{counter}, -1;"),
        Inst::Test { counter } => format!("setp.gt.s32 %p{PREDICATES}, %c{counter}, 0;"),
        Inst::Exit => "ret;".to_owned(),
    }
}

/// Instructions before the first of the program.
const PROLOGUE: u64 = 9;

/// One thread, one instruction at a time: its global words and the instructions it executed.
fn interpret(program: &Program, thread: u32) -> ([u32; WORDS as usize], u64) {
    let mut place = vec![program.lines.len(); program.labels];
    for (at, line) in program.lines.iter().enumerate() {
        line.labels.iter().for_each(|&label| place[label] = at);
    }
    let (mut r, mut p, mut c) = ([0u32; REGISTERS], [false; PREDICATES + 1], [0i32; LOOPS]);
    let (mut global, mut shared) = ([0; WORDS as usize], [0; WORDS as usize]);
    let (mut at, mut executed) = (0, PROLOGUE);
    while let Some(line) = program.lines.get(at) {
        at += 1;
        if line
            .guard
            .is_some_and(|(predicate, negated)| p[predicate] == negated)
        {
            continue;
        }
        executed += 1;
        let value = |source: &Source, r: &[u32]| match *source {
            Source::Register(register) => r[register],
            Source::Number(value) => value,
            Source::Thread => thread,
        };
        match &line.inst {
            Inst::Arithmetic { op, dst, a, b } => {
                let (x, y) = (r[*a], value(b, &r));
                r[*dst] = match op {
                    Op::Add => x.wrapping_add(y),
                    Op::Sub => x.wrapping_sub(y),
                    Op::Mul => x.wrapping_mul(y),
                    Op::Xor => x ^ y,
                    Op::Shift => x.checked_shl(y).unwrap_or(0),
                };
            }
            Inst::Compare { dst, less, a, b } => {
                let (x, y) = (r[*a], value(b, &r));
                p[*dst] = if *less { x < y } else { x == y };
            }
            Inst::Select {
                dst,
                a,
                b,
                predicate,
            } => r[*dst] = if p[*predicate] { r[*a] } else { r[*b] },
            Inst::Load {
                shared: false,
                dst,
                word,
            } => r[*dst] = global[*word as usize],
            Inst::Load {
                shared: true,
                dst,
                word,
            } => r[*dst] = shared[*word as usize],
            Inst::Store {
                shared: false,
                src,
                word,
            } => global[*word as usize] = r[*src],
            Inst::Store {
                shared: true,
                src,
                word,
            } => shared[*word as usize] = r[*src],
            Inst::Pair {
                shared: is_shared,
                is_load,
                registers,
                word,
            } => {
                let words = match is_shared {
                    true => &mut shared,
                    false => &mut global,
                };
                for (number, &register) in registers.iter().enumerate() {
                    let word = &mut words[*word as usize + number];
                    match is_load {
                        true => r[register] = *word,
                        false => *word = r[register],
                    }
                }
            }
            Inst::Branch { label } => at = place[*label],
            Inst::Begin { counter, rounds } => c[*counter] = *rounds as i32,
            Inst::Decrement { counter } => c[*counter] = c[*counter].wrapping_sub(1),
            Inst::Test { counter } => p[PREDICATES] = c[*counter] > 0,
            Inst::Exit => break,
        }
    }
    (global, executed)
}

// Generation.

fn register() -> impl Strategy<Value = usize> {
    0..REGISTERS
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        register().prop_map(Source::Register),
        (0u32..40).prop_map(Source::Number),
        Just(Source::Thread),
    ]
}

fn guard() -> impl Strategy<Value = (usize, bool)> {
    (0..PREDICATES, any::<bool>())
}

fn plain() -> impl Strategy<Value = Inst> {
    let op = prop_oneof![
        Just(Op::Add),
        Just(Op::Sub),
        Just(Op::Mul),
        Just(Op::Xor),
        Just(Op::Shift)
    ];
    prop_oneof![
        4 => (op, register(), register(), source()).prop_map(|(op, dst, a, b)| Inst::Arithmetic { op, dst, a, b }),
        3 => (0..PREDICATES, any::<bool>(), register(), source())
            .prop_map(|(dst, less, a, b)| Inst::Compare { dst, less, a, b }),
        1 => (register(), register(), register(), 0..PREDICATES)
            .prop_map(|(dst, a, b, predicate)| Inst::Select { dst, a, b, predicate }),
        1 => (any::<bool>(), register(), 0..WORDS).prop_map(|(shared, dst, word)| Inst::Load { shared, dst, word }),
        1 => (any::<bool>(), register(), 0..WORDS).prop_map(|(shared, src, word)| Inst::Store { shared, src, word }),
        1 => (any::<[bool; 2]>(), register(), 1..REGISTERS, 0..WORDS / 2).prop_map(|([shared, is_load], first, apart, pair)| {
            let registers = [first, (first + apart) % REGISTERS];
            Inst::Pair { shared, is_load, registers, word: 2 * pair }
        }),
    ]
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let leaf = prop_oneof![
        8 => (prop::option::weighted(0.3, guard()), plain()).prop_map(|(guard, inst)| Piece::Plain(guard, inst)),
        1 => (guard(), 0usize..4).prop_map(|(guard, levels)| Piece::Escape(guard, levels)),
        1 => guard().prop_map(Piece::Exit),
    ];
    let piece = leaf.prop_recursive(4, 40, 6, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            2 => (0..PREDICATES, body(), body()).prop_map(|(predicate, yes, no)| Piece::If(predicate, yes, no)),
            1 => (1u32..5, body()).prop_map(|(rounds, body)| Piece::Loop(rounds, body)),
        ]
    });
    prop::collection::vec(piece, 1..10)
}

// Running.

struct Run {
    memory: DeviceMemory,
    launch: Launch,
    out: u64,
    bytes: u64,
}

fn prepare(text: &str, blocks: u32, threads: u32, order: IssueOrder) -> Run {
    let module = Module::load_ordered("random.ptx", text, order).and_then(Module::whole);
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).expect("there are no variables");
    let bytes = u64::from(4 * WORDS * blocks * threads);
    let out = memory.alloc("out", bytes, 256).expect("there is room");
    let kernel = module.kernel("k").expect("it is there");
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    let launch = Launch::new(&module, &linked, kernel, grid, block, 0, &out.to_le_bytes())
        .expect("it can be launched")
        .with_executor(Executor::Interpreter);
    Run {
        memory,
        launch,
        out,
        bytes,
    }
}

/// Runs step by step, choosing the next warp by `order`; instructions and thread instructions, and what each step said.
fn run_stepped(run: &mut Run, order: &[u8], budget: u32) -> (u64, u64, Vec<Seen>) {
    let costs = InstructionCosts::new(run.launch.kernel(), |index, _| (index as u32 % 3 + 1, 2));
    let mut block = Block::new(&run.launch);
    let mut step = Step::default();
    let (mut instructions, mut threads) = (0, 0);
    let mut seen = Vec::new();
    let mut order = order.iter().cycle();
    for index in 0..run.launch.blocks() {
        block.start(&run.launch, index);
        let mut running: Vec<u32> = (0..run.launch.warps_per_block()).collect();
        while !running.is_empty() {
            let at = usize::from(*order.next().expect("it is not empty")) % running.len();
            block
                .advance(
                    &run.launch,
                    running[at],
                    &mut run.memory,
                    &costs,
                    budget,
                    &mut step,
                )
                .unwrap_or_else(|trap| panic!("{trap}"));
            instructions += step.totals.instructions;
            threads += step.totals.thread_instructions;
            assert_eq!(step.totals.latency_cycles, 2 * step.totals.instructions);
            seen.push(see(&step));
            match step.end {
                StepEnd::Exit => drop(running.remove(at)),
                StepEnd::Memory => {
                    assert_ne!(step.access.mask, 0);
                    assert!(matches!(step.access.lane_bytes, 4 | 8));
                    assert!(matches!(
                        step.access.kind,
                        AccessKind::Load | AccessKind::Store
                    ));
                }
                StepEnd::Wait { slots } => assert_ne!(slots, 0),
                StepEnd::Budget => {}
                StepEnd::Copies { .. }
                | StepEnd::Phase(_)
                | StepEnd::Suspended(_)
                | StepEnd::Barrier { .. }
                | StepEnd::ClusterBarrier { .. } => {
                    panic!("there is no barrier in these programs")
                }
            }
        }
        assert!(block.is_finished());
    }
    (instructions, threads, seen)
}

/// How many programs; a long run sets more.
fn cases() -> u32 {
    let cases = std::env::var("PAGEMILL_NATIVE_CASES").ok();
    cases.and_then(|text| text.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn warps_do_what_their_threads_would(
        pieces in pieces(),
        threads in 1u32..100,
        order in prop::collection::vec(any::<u8>(), 1..20),
        budget in 1u32..50,
        loads_early in any::<bool>(),
    ) {
        let issue = if loads_early { IssueOrder::LoadsEarly } else { IssueOrder::AsWritten };
        let program = whole(&pieces);
        let text = ptx(&program);
        const BLOCKS: u32 = 2;
        let expected: Vec<_> = (0..BLOCKS * threads).map(|thread| interpret(&program, thread)).collect();
        let wanted: Vec<u8> = expected.iter().flat_map(|(words, _)| words.iter().flat_map(|word| word.to_le_bytes())).collect();
        let executed: u64 = expected.iter().map(|(_, executed)| executed).sum();

        let mut run = prepare(&text, BLOCKS, threads, issue);
        let totals = run_functional(&run.launch, &mut run.memory, &mut Output::default());
        let totals = totals.unwrap_or_else(|trap| panic!("{trap}\n{text}"));
        prop_assert_eq!(run.memory.bytes(run.out, run.bytes).expect("allocated"), &wanted[..], "{}", text);
        prop_assert_eq!(totals.thread_instructions, executed, "{}", text);

        let mut run = prepare(&text, BLOCKS, threads, issue);
        let compiled = run.launch.clone().with_executor(Executor::Compiled);
        let compiled = run_functional(&compiled, &mut run.memory, &mut Output::default());
        prop_assert_eq!(run.memory.bytes(run.out, run.bytes).expect("allocated"), &wanted[..], "compiled {}", text);
        prop_assert_eq!(compiled.expect("the interpreter ran it"), totals, "compiled {}", text);

        let mut run = prepare(&text, BLOCKS, threads, issue);
        let (instructions, thread_instructions, steps) = run_stepped(&mut run, &order, budget);
        prop_assert_eq!(run.memory.bytes(run.out, run.bytes).expect("allocated"), &wanted[..], "{}", text);
        prop_assert_eq!((instructions, thread_instructions), (totals.instructions, executed), "{}", text);

        let mut run = prepare(&text, BLOCKS, threads, issue);
        run.launch = run.launch.with_executor(Executor::Compiled);
        let (_, _, compiled_steps) = run_stepped(&mut run, &order, budget);
        prop_assert_eq!(run.memory.bytes(run.out, run.bytes).expect("allocated"), &wanted[..], "compiled {}", text);
        for (number, (found, wanted)) in compiled_steps.iter().zip(&steps).enumerate() {
            prop_assert_eq!(found, wanted, "step {} of compiled {}", number, text);
        }
        prop_assert_eq!(compiled_steps.len(), steps.len());
    }
}
