use super::*;
use crate::flow::liveness;
use crate::flow::program::{Aux, Label, Micro};
use proptest::prelude::*;
use std::collections::HashSet;

const REGISTERS: u32 = 12;

/// Additions and selections on few registers, with branches anywhere.
fn program() -> impl Strategy<Value = Program> {
    let register = || (0..REGISTERS).prop_map(VReg);
    let micro = (
        0u8..5,
        register(),
        register(),
        register(),
        any::<bool>(),
        0u32..6,
    );
    prop::collection::vec(micro, 1..30).prop_flat_map(|micros| {
        let labels = prop::collection::vec(0..=micros.len(), 6);
        (Just(micros), labels).prop_map(|(micros, labels)| build(micros, labels))
    })
}

fn build(micros: Vec<(u8, VReg, VReg, VReg, bool, u32)>, labels: Vec<usize>) -> Program {
    let mut program = Program {
        labels,
        ..Program::default()
    };
    for register in 0..REGISTERS {
        program.register(if register < REGISTERS - 2 {
            Class::Narrow
        } else {
            Class::Predicate
        });
    }
    let predicate = |register: VReg| VReg(REGISTERS - 2 + register.0 % 2);
    let narrow = |register: VReg| VReg(register.0 % (REGISTERS - 2));
    for (info, (kind, dst, a, b, guarded, label)) in (0..).zip(micros) {
        let guard = guarded.then(|| (predicate(a), false));
        let (dst, a, b) = (narrow(dst), narrow(a), narrow(b));
        let (op, dsts, srcs, aux) = match kind {
            0 | 1 => (
                Op::Add32,
                vec![dst],
                vec![Value::Reg(a), Value::Reg(b)],
                Aux::None,
            ),
            2 => (Op::Move32, vec![dst], vec![Value::Reg(a)], Aux::None),
            3 => (
                Op::LessU32,
                vec![predicate(dst)],
                vec![Value::Reg(a), Value::Reg(b)],
                Aux::None,
            ),
            _ => (Op::Branch, vec![], vec![], Aux::Target(Label(label))),
        };
        program.micros.push(Micro {
            op,
            dsts,
            srcs,
            guard,
            aux,
            info,
        });
    }
    program
}

/// Registers live after each operation, by iterating over single operations until nothing changes.
fn live_after(program: &Program) -> Vec<HashSet<VReg>> {
    let count = program.micros.len();
    let mut before: Vec<HashSet<VReg>> = vec![HashSet::new(); count + 1];
    let mut after = vec![HashSet::new(); count];
    for _ in 0..=count {
        for at in (0..count).rev() {
            let micro = &program.micros[at];
            let mut next = Vec::new();
            if let Aux::Target(label) = micro.aux {
                next.push(program.labels[label.0 as usize]);
            }
            if !micro.ends_block() || micro.guard.is_some() {
                next.push(at + 1);
            }
            after[at] = next
                .iter()
                .flat_map(|&next| before[next].iter().copied())
                .collect();
            let mut live = after[at].clone();
            if micro.guard.is_none() {
                micro.dsts.iter().for_each(|dst| {
                    live.remove(dst);
                });
            }
            live.extend(micro.sources());
            before[at] = live;
        }
    }
    after
}

proptest! {
    #[test]
    fn no_write_destroys_what_is_still_needed(mut program in program()) {
        let graph = Graph::new(&mut program);
        let live = liveness::analyze(&program, &graph).expect("it is small");
        let slots = allocate(&program, &graph, &live).expect("there are enough slots");
        for (at, live) in live_after(&program).iter().enumerate() {
            for dst in &program.micros[at].dsts {
                for other in live.iter().filter(|other| *other != dst) {
                    let same_class = program.class(*other) == program.class(*dst);
                    let same_slot = slots.slot[other.index()] == slots.slot[dst.index()];
                    // A copy may share the slot of its source: it writes what is there.
                    let is_copy = program.micros[at].op == Op::Move32 && program.micros[at].srcs[0] == Value::Reg(*other);
                    prop_assert!(!(same_class && same_slot) || is_copy, "operation {} writes {:?} over {:?}", at, dst, other);
                }
            }
        }
    }
}
