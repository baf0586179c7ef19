//! The order in which a stage of a pipeline does its work: one forward, one backward (Narayanan et al.: PipeDream, SOSP 2019).

use std::collections::VecDeque;

use super::super::block::{Block, Exchange};
use super::super::messages::Phase;
use super::layer::{Layers, Pass};

/// The blocks of one rank, a task at a time.
#[derive(Debug)]
pub(super) struct TrainingBlocks {
    layers: Layers,
    iteration: u64,
    tasks: Vec<Task>,
    next_task: usize,
    ready: VecDeque<Block>,
}

/// What a stage does; numbers are of micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Forward(u32),
    Backward(u32),
    /// Activations go on and come, gradients go back and come: whatever there is, at once.
    Exchange {
        sends_forward: Option<u32>,
        receives_forward: Option<u32>,
        sends_backward: Option<u32>,
        receives_backward: Option<u32>,
    },
    ReceiveTokens,
    SendTokens,
    Gradients,
}

const NOTHING: Task = Task::Exchange {
    sends_forward: None,
    receives_forward: None,
    sends_backward: None,
    receives_backward: None,
};

impl TrainingBlocks {
    pub fn new(layers: Layers) -> Self {
        let spec = &layers.spec;
        let (stage, stages) = (layers.stage(), spec.layout.pipeline);
        let tasks = if spec.inference {
            inference(stage, stages, spec.micro_batches)
        } else {
            one_forward_one_backward(stage, stages, spec.micro_batches)
        };
        Self {
            layers,
            iteration: 0,
            tasks,
            next_task: 0,
            ready: VecDeque::new(),
        }
    }

    fn add(&mut self, task: Task) {
        let Self {
            layers,
            ready,
            iteration,
            ..
        } = self;
        let last = layers.spec.layout.pipeline - 1;
        match task {
            Task::Forward(micro_batch) => {
                for layer in 0..layers.count() {
                    let pass = Pass {
                        iteration: *iteration,
                        micro_batch,
                        layer,
                        is_backward: false,
                    };
                    layers.pass(&pass, Exchange::Nothing, ready);
                }
            }
            Task::Backward(micro_batch) => backward(layers, *iteration, micro_batch, ready),
            Task::Exchange { .. } => {
                ready.push_back(Block::exchange(Exchange::Messages(messages(layers, task))));
            }
            Task::ReceiveTokens if *iteration > 0 => {
                ready.push_back(Block::exchange(Exchange::Messages(layers.tokens(last))));
            }
            Task::SendTokens if *iteration + 1 < layers.spec.iterations => {
                ready.push_back(Block::exchange(Exchange::Detached(layers.tokens(0))));
            }
            Task::ReceiveTokens | Task::SendTokens => {}
            Task::Gradients => {
                // With overlap, those of the first layer, computed last, are left.
                let left = if layers.spec.overlap {
                    1
                } else {
                    layers.count()
                };
                for layer in (0..left).rev() {
                    ready.extend(layers.gradients(layer).map(Block::exchange));
                }
                ready.extend(layers.vocabulary_gradients());
            }
        }
    }
}

impl Iterator for TrainingBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Some(block);
            }
            if self.iteration == self.layers.spec.iterations {
                return None;
            }
            match self.tasks.get(self.next_task) {
                Some(&task) => {
                    self.next_task += 1;
                    self.add(task);
                }
                None => {
                    self.next_task = 0;
                    self.iteration += 1;
                }
            }
        }
    }
}

/// Back through the layers. In the last micro-batch, with overlap, the gradients of the layer before are exchanged meanwhile.
fn backward(layers: &Layers, iteration: u64, micro_batch: u32, ready: &mut VecDeque<Block>) {
    let is_last = micro_batch + 1 == layers.spec.micro_batches;
    for layer in (0..layers.count()).rev() {
        let mut beside = Exchange::Nothing;
        if layers.spec.overlap && is_last && layer + 1 < layers.count() {
            let [dense, experts] = layers.gradients(layer + 1);
            ready.push_back(Block::exchange(experts));
            beside = dense;
        }
        let pass = Pass {
            iteration,
            micro_batch,
            layer,
            is_backward: true,
        };
        layers.pass(&pass, beside, ready);
    }
}

fn messages(layers: &Layers, task: Task) -> Phase {
    let mut phase = Phase::default();
    let Task::Exchange {
        sends_forward,
        receives_forward,
        sends_backward,
        receives_backward,
    } = task
    else {
        return phase;
    };
    let stage = layers.stage();
    let (before, after) = (stage.wrapping_sub(1), stage + 1);
    let message = |stage: u32, is_receive: bool| {
        move |number| layers.between_stages(stage, number, is_receive)
    };
    phase
        .receives
        .extend(receives_forward.map(message(before, true)));
    phase
        .receives
        .extend(receives_backward.map(message(after, true)));
    phase.sends.extend(sends_forward.map(message(after, false)));
    phase
        .sends
        .extend(sends_backward.map(message(before, false)));
    phase
}

/// Micro-batches go forward until the stage holds as many as there are stages behind it; then one forward, one backward in turn.
fn one_forward_one_backward(stage: u32, stages: u32, micro_batches: u32) -> Vec<Task> {
    let (first, last) = (stage == 0, stage + 1 == stages);
    let warm_up = (stages - stage - 1).min(micro_batches);
    let exchange = |forward: (Option<u32>, Option<u32>), backward: (Option<u32>, Option<u32>)| {
        Task::Exchange {
            sends_forward: forward.0.filter(|_| !last),
            receives_forward: forward.1.filter(|_| !first),
            sends_backward: backward.0.filter(|_| !first),
            receives_backward: backward.1.filter(|_| !last),
        }
    };
    let mut tasks = Vec::new();
    for number in 0..warm_up {
        tasks.push(exchange((None, Some(number)), (None, None)));
        tasks.push(Task::Forward(number));
        tasks.push(exchange((Some(number), None), (None, None)));
    }
    let steady = micro_batches - warm_up;
    if steady > 0 {
        tasks.push(exchange((None, Some(warm_up)), (None, None)));
    }
    for number in 0..steady {
        let ahead = warm_up + number;
        tasks.push(Task::Forward(ahead));
        tasks.push(exchange((Some(ahead), None), (None, Some(number))));
        tasks.push(Task::Backward(number));
        let next = Some(ahead + 1).filter(|next| *next < micro_batches);
        tasks.push(exchange((None, next), (Some(number), None)));
    }
    for number in steady..micro_batches {
        tasks.push(exchange((None, None), (None, Some(number))));
        tasks.push(Task::Backward(number));
        tasks.push(exchange((None, None), (Some(number), None)));
    }
    tasks.push(Task::Gradients);
    tasks.retain(|task| *task != NOTHING);
    tasks
}

/// Forward only. Tokens that the last stage has chosen are what the first begins with in the next step.
fn inference(stage: u32, stages: u32, micro_batches: u32) -> Vec<Task> {
    let (first, last) = (stage == 0, stage + 1 == stages);
    let mut tasks = Vec::new();
    for number in 0..micro_batches {
        tasks.push(Task::Exchange {
            sends_forward: None,
            receives_forward: Some(number).filter(|_| !first),
            sends_backward: None,
            receives_backward: None,
        });
        if first && !last {
            tasks.push(Task::ReceiveTokens);
        }
        tasks.push(Task::Forward(number));
        if last && !first {
            tasks.push(Task::SendTokens);
        }
        tasks.push(Task::Exchange {
            sends_forward: Some(number).filter(|_| !last),
            receives_forward: None,
            sends_backward: None,
            receives_backward: None,
        });
    }
    tasks.retain(|task| *task != NOTHING);
    tasks
}

#[cfg(test)]
mod tests;
