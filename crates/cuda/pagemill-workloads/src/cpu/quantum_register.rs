//! A simulated quantum register, as in libquantum: gates sweep over all basis states, and qubits that join double them.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "quantum-register",
    summary: "gates on a growing register of basis states: sweep after sweep (like libquantum)",
    parameters: &[
        Parameter::count(
            "qubits",
            20,
            2,
            30,
            "of the full register, 2^qubits states of 16 bytes each",
        ),
        Parameter::count(
            "first_qubits",
            16,
            1,
            30,
            "of the register at the start; at most `qubits`",
        ),
        Parameter::count("gates", 4, 1, 100_000, "on each size of the register"),
        SEED,
    ],
    start: |values| {
        let most = values.get_u32("qubits");
        let first = values.get_u32("first_qubits").min(most);
        Box::new(ProgramStream::new(QuantumRegister::new(
            first,
            most,
            values.get_u32("gates"),
            values.get("seed"),
        )))
    },
};

#[derive(Clone, Copy, Debug)]
struct BasisState {
    state: u64,
    real: f32,
    imaginary: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// A qubit joins in an even superposition: every state has a twin with it set.
    Join,
    /// Flips a qubit where two others are set (Toffoli), and turns the phase of the states it flips.
    Gate {
        controls: [u32; 2],
        target: u32,
    },
    Done,
}

#[derive(Debug)]
struct QuantumRegister {
    states: Array<BasisState>,
    qubits: u32,
    most: u32,
    gates: u32,
    gates_left: u32,
    chosen: u64,
    random: Random,
    pass: Pass,
}

impl QuantumRegister {
    fn new(first: u32, most: u32, gates: u32, seed: u64) -> Self {
        let scale = 0.5_f32.powi(first as i32).sqrt();
        let state = |state: u64| BasisState {
            state,
            real: if state < 1 << first { scale } else { 0.0 },
            imaginary: 0.0,
        };
        let mut register = Self {
            states: Layout::new().array((0..1 << most).map(state).collect()),
            qubits: first,
            most,
            gates,
            gates_left: gates,
            chosen: 0,
            random: Random::new(seed, 0),
            pass: Pass::Done,
        };
        register.pass = register.choose();
        register
    }

    fn choose(&mut self) -> Pass {
        let mut qubit = || {
            self.chosen += 1;
            self.random.below(self.chosen, self.qubits.into()) as u32
        };
        let target = qubit();
        let other = |qubit: u32| {
            if qubit == target {
                (qubit + 1) % self.qubits.max(2)
            } else {
                qubit
            }
        };
        Pass::Gate {
            controls: [qubit(), qubit()].map(other),
            target,
        }
    }

    fn join(&mut self, index: usize, memory: &mut Recorder) {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let mut state = self.states.get(index, memory);
        (state.real, state.imaginary) = (state.real * half, state.imaginary * half);
        self.states.set(index, state, memory);
        state.state |= 1 << self.qubits;
        self.states.set(index + (1 << self.qubits), state, memory);
    }

    fn gate(&mut self, index: usize, controls: [u32; 2], target: u32, memory: &mut Recorder) {
        let state = self.states.get(index, memory).state;
        if controls.iter().all(|control| state >> control & 1 == 1) {
            self.states.update(index, memory, |state| {
                state.state ^= 1 << target;
                (state.real, state.imaginary) = (-state.imaginary, state.real);
            });
        }
    }
}

impl CpuProgram for QuantumRegister {
    fn items(&self) -> usize {
        if self.pass == Pass::Done {
            0
        } else {
            1 << self.qubits
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        match self.pass {
            Pass::Join => self.join(index, memory),
            Pass::Gate { controls, target } => self.gate(index, controls, target, memory),
            Pass::Done => {}
        }
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Gate { .. } if self.gates_left > 1 => {
                self.gates_left -= 1;
                self.choose()
            }
            Pass::Gate { .. } if self.qubits < self.most => Pass::Join,
            Pass::Join => {
                self.qubits += 1;
                self.gates_left = self.gates;
                self.choose()
            }
            _ => Pass::Done,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn every_state_is_there_once_and_probabilities_add_up_to_one() {
        let mut program = QuantumRegister::new(3, 8, 20, 4);
        run_to_end(&mut program);
        let mut states: Vec<u64> = program
            .states
            .values()
            .iter()
            .map(|state| state.state)
            .collect();
        let moved = states
            .iter()
            .zip(0..)
            .filter(|(state, index)| *state != index)
            .count();
        assert!(moved > 50);
        states.sort_unstable();
        assert!(states.into_iter().eq(0..256));
        let total: f32 = program
            .states
            .values()
            .iter()
            .map(|state| state.real.powi(2) + state.imaginary.powi(2))
            .sum();
        assert!((total - 1.0).abs() < 1e-4, "{total}");
    }
}
