//! What a rank does for one layer.

use std::rc::Rc;

use pagemill_types::Picos;

use super::super::block::{Block, Exchange};
use super::super::collective::{ARRAY, Collective, DATA, Operation, PairBytes};
use super::super::messages::{Group, Message, Phase};
use super::super::routing::{Assignment, AssignmentKey, Routing};
use super::{TensorExchange, TrainingSpec};

/// The layers of one rank.
#[derive(Debug)]
pub(super) struct Layers {
    pub spec: TrainingSpec,
    pub rank: u32,
    routing: Rc<Routing>,
}

/// A pass of a micro-batch through a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub iteration: u64,
    pub micro_batch: u32,
    /// Of those of the stage.
    pub layer: u32,
    pub is_backward: bool,
}

/// Arrays of a rank, far from each other.
#[derive(Clone, Copy, Debug)]
enum Array {
    Activations,
    Dispatched,
    Outputs,
    Combined,
    Gradients,
    ExpertGradients,
    BetweenStages,
}

impl Array {
    fn address(self, offset: u64) -> u64 {
        DATA + (self as u64) * ARRAY + offset
    }
}

/// Arrays begin at multiples of it.
const ALIGNMENT: u64 = 64 << 10;

/// Bytes of the number of a token.
const TOKEN_BYTES: u64 = 4;

impl Layers {
    pub fn new(spec: &TrainingSpec, rank: u32, routing: Rc<Routing>) -> Self {
        Self {
            spec: *spec,
            rank,
            routing,
        }
    }

    pub fn stage(&self) -> u32 {
        self.spec.layout.stage(self.rank)
    }

    /// Layers of a stage.
    pub fn count(&self) -> u32 {
        self.spec.model.layers / self.spec.layout.pipeline
    }

    fn has_experts(&self) -> bool {
        self.spec.model.experts > 1
    }

    fn activation_bytes(&self) -> u64 {
        self.spec.micro_batch_tokens * self.spec.model.hidden * self.spec.model.number_bytes
    }

    /// Where the activations of a half of a layer are. A stage keeps those of as many micro-batches as there are stages.
    fn activations(&self, array: Array, pass: &Pass, half: u64, bytes: u64) -> u64 {
        let slot = u64::from(pass.micro_batch % self.spec.layout.pipeline);
        let layer = slot * u64::from(self.count()) + u64::from(pass.layer);
        array.address((2 * layer + half) * bytes.next_multiple_of(ALIGNMENT))
    }

    /// Adds the blocks of a pass; `beside` is exchanged while the feed-forward network is computed.
    pub fn pass(&self, pass: &Pass, beside: Exchange, out: &mut impl Extend<Block>) {
        let halves = [0, 1];
        let order = if pass.is_backward { [1, 0] } else { halves };
        let mut beside = Some(beside);
        for half in order {
            self.gather(pass, half, out);
            match half {
                0 => out.extend([Block::compute(self.attention_time(pass))]),
                _ => self.feed_forward(pass, beside.take().unwrap_or(Exchange::Nothing), out),
            }
            self.scatter(pass, half, out);
        }
    }

    fn tensor_collective(&self, pass: &Pass, half: u64, operation: Operation) -> Block {
        self.collective(
            operation,
            self.spec.layout.tensor_group(self.rank),
            self.activations(Array::Activations, pass, half, self.activation_bytes()),
        )
    }

    fn collective(&self, operation: Operation, group: Group, address: u64) -> Block {
        Block::exchange(Exchange::Collective(Collective {
            operation,
            group,
            transport: self.spec.transport,
            address,
        }))
    }

    fn gather(&self, pass: &Pass, half: u64, out: &mut impl Extend<Block>) {
        if self.spec.tensor_exchange == TensorExchange::GatherScatter {
            let operation = Operation::AllGather(self.activation_bytes());
            out.extend([self.tensor_collective(pass, half, operation)]);
        }
    }

    fn scatter(&self, pass: &Pass, half: u64, out: &mut impl Extend<Block>) {
        let bytes = self.activation_bytes();
        let operation = match self.spec.tensor_exchange {
            TensorExchange::AllReduce => Operation::AllReduce(super::Algorithm::Ring, bytes),
            TensorExchange::GatherScatter => Operation::ReduceScatter(bytes),
        };
        out.extend([self.tensor_collective(pass, half, operation)]);
    }

    /// Two operations a weight and token forward, twice as many backward.
    fn time(&self, weights: u64, tokens: u64, pass: &Pass) -> Picos {
        let factor = if pass.is_backward { 4 } else { 2 };
        let operations = factor * u128::from(weights) * u128::from(tokens);
        (self.spec).compute(operations / u128::from(self.spec.layout.tensor))
    }

    fn attention_time(&self, pass: &Pass) -> Picos {
        let weights = self.spec.model.attention_weights();
        self.time(weights, self.spec.micro_batch_tokens, pass)
    }

    fn feed_forward(&self, pass: &Pass, beside: Exchange, out: &mut impl Extend<Block>) {
        let weights = self.spec.model.feed_forward_weights();
        if !self.has_experts() {
            let compute = self.time(weights, self.spec.micro_batch_tokens, pass);
            out.extend([Block {
                compute,
                exchange: beside,
            }]);
            return;
        }
        let layout = &self.spec.layout;
        let group = layout.expert_group(self.rank);
        let assignment = self.assignment(pass, group);
        let tokens = assignment.load(group.position(self.rank));
        // The tensor-parallel ranks each have their share of a micro-batch's tokens, and of an expert's matrices.
        let compute = self.time(weights, tokens * u64::from(layout.tensor), pass);
        let token_bytes = self.spec.model.hidden * self.spec.model.number_bytes;
        let most = 2 * u64::from(self.spec.model.top_k) * self.activation_bytes();
        let [source, dispatched, output, combined] = [
            Array::Activations,
            Array::Dispatched,
            Array::Outputs,
            Array::Combined,
        ]
        .map(|array| self.activations(array, pass, 1, most));
        let there = PairBytes::Dispatch(Rc::clone(&assignment), token_bytes);
        let back = PairBytes::Combine(assignment, token_bytes);
        out.extend([
            self.collective(Operation::AllToAll(there, dispatched), group, source),
            Block {
                compute,
                exchange: beside,
            },
            self.collective(Operation::AllToAll(back, combined), group, output),
        ]);
    }

    fn assignment(&self, pass: &Pass, group: Group) -> Rc<Assignment> {
        self.routing.assignment(&AssignmentKey {
            first_rank: group.first,
            iteration: pass.iteration,
            micro_batch: pass.micro_batch,
            layer: self.stage() * self.count() + pass.layer,
            ranks: group.size,
            experts: self.spec.model.experts,
            top_k: self.spec.model.top_k,
            tokens: self.spec.micro_batch_tokens / u64::from(self.spec.layout.tensor),
        })
    }

    /// Adds up the gradients of `layer` among the ranks that have the same weights: those of all but experts, and of experts.
    pub fn gradients(&self, layer: u32) -> [Exchange; 2] {
        let Self { spec, rank, .. } = self;
        let (model, layout) = (&spec.model, &spec.layout);
        let share = |weights: u64| weights / u64::from(layout.tensor) * model.number_bytes;
        let network = model.feed_forward_weights();
        let own_experts = u64::from(model.experts / layout.expert);
        let (dense, experts) = if self.has_experts() {
            (
                share(model.attention_weights()),
                own_experts * share(network),
            )
        } else {
            (share(model.attention_weights() + network), 0)
        };
        let all_reduce = |bytes: u64, group: Group, array: Array| {
            let address = array.address(u64::from(layer) * bytes.next_multiple_of(ALIGNMENT));
            self.collective(Operation::AllReduce(spec.gradients, bytes), group, address)
                .exchange
        };
        [
            all_reduce(dense, layout.data_group(*rank), Array::Gradients),
            all_reduce(
                experts,
                layout.expert_data_group(*rank),
                Array::ExpertGradients,
            ),
        ]
    }

    /// Adds up the gradients of the table of tokens that the first and the last stage have.
    pub fn vocabulary_gradients(&self) -> Option<Block> {
        let Self { spec, rank, .. } = self;
        let stage = self.stage();
        let tables = u64::from(stage == 0) + u64::from(stage + 1 == spec.layout.pipeline);
        let weights = tables * spec.model.vocabulary_weights() / u64::from(spec.layout.tensor);
        let bytes = weights * spec.model.number_bytes;
        // Behind those of the layers.
        let address = Array::Gradients.address(ARRAY / 2);
        let operation = Operation::AllReduce(spec.gradients, bytes);
        (bytes > 0).then(|| self.collective(operation, spec.layout.data_group(*rank), address))
    }

    /// The activations of a micro-batch, or their gradients, as a message from or to `stage`.
    pub fn between_stages(&self, stage: u32, micro_batch: u32, is_receive: bool) -> Message {
        let layout = &self.spec.layout;
        let bytes = match self.spec.tensor_exchange {
            TensorExchange::AllReduce => self.activation_bytes(),
            TensorExchange::GatherScatter => self.activation_bytes() / u64::from(layout.tensor),
        };
        let slot = 4 * u64::from(micro_batch % layout.pipeline)
            + 2 * u64::from(stage > self.stage())
            + u64::from(is_receive);
        Message {
            peer: layout.at_stage(self.rank, stage),
            tag: 0,
            bytes: bytes.max(1),
            address: Array::BetweenStages.address(slot * bytes.next_multiple_of(ALIGNMENT)),
        }
    }

    /// The tokens that the last stage has chosen, from or to `stage`.
    pub fn tokens(&self, stage: u32) -> Phase {
        let message = Message {
            peer: self.spec.layout.at_stage(self.rank, stage),
            tag: 1,
            bytes: self.spec.micro_batch_tokens * TOKEN_BYTES,
            address: Array::BetweenStages.address(ARRAY / 2),
        };
        if stage == 0 {
            Phase {
                sends: vec![message],
                ..Phase::default()
            }
        } else {
            Phase {
                receives: vec![message],
                ..Phase::default()
            }
        }
    }
}
