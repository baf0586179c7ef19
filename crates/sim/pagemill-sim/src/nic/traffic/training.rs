//! Training and inference of language models, with the ranks and schedules of Megatron-LM (Narayanan et al.: Efficient large-scale
//! language model training on GPU clusters using Megatron-LM, SC 2021).
//!
//! Left out: the quadratic part of attention, norms, routers, the optimizer's computation, and interleaved pipelines.

mod layer;
mod schedule;

use std::rc::Rc;

use pagemill_types::Picos;

use super::block::Block;
use super::collective::{Algorithm, Transport};
use super::messages::Group;
use super::model::ModelSpec;
use super::routing::{Popularity, Routing};
use layer::Layers;
use schedule::TrainingBlocks;

/// A language model on many ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingSpec {
    /// The model.
    pub model: ModelSpec,
    /// How it is divided.
    pub layout: Layout,
    /// Parts of a batch that go through the pipeline one after the other.
    pub micro_batches: u32,
    /// Tokens of a part; in inference that generates, the sequences of a part.
    pub micro_batch_tokens: u64,
    /// Batches, or steps of inference.
    pub iterations: u64,
    /// How tensor-parallel ranks exchange activations.
    pub tensor_exchange: TensorExchange,
    /// How gradients are added up.
    pub gradients: Algorithm,
    /// Whether the gradients of a layer are exchanged while those of the next are computed.
    pub overlap: bool,
    /// Whether there is only the forward direction; the last stage then sends its tokens to the first.
    pub inference: bool,
    /// Floating-point operations a rank computes in a microsecond; 0: computation takes no time.
    pub operations_per_microsecond: u64,
    /// How messages are cut.
    pub transport: Transport,
    /// How tokens choose experts.
    pub popularity: Popularity,
    /// What they choose depends on it.
    pub seed: u64,
}

/// How a model is divided among ranks. Rank numbers count tensor parts first, then data parts, then stages; experts are divided
/// among neighboring data parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks that share each matrix.
    pub tensor: u32,
    /// Ranks that each have a part of the batch.
    pub data: u32,
    /// Stages of layers.
    pub pipeline: u32,
    /// Ranks, of those with data parts, that share the experts of a layer.
    pub expert: u32,
}

/// How tensor-parallel ranks exchange activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorExchange {
    /// An all-reduce after each half of a layer.
    AllReduce,
    /// An all-gather before each half and a reduce-scatter after it: sequence parallelism.
    GatherScatter,
}

/// Ranks are counted in 32 bits, and far more than these are a mistake.
const RANKS_MAX: u64 = 1 << 20;

impl Layout {
    /// All ranks.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.data * self.pipeline
    }

    fn tensor_part(&self, rank: u32) -> u32 {
        rank % self.tensor
    }

    fn data_part(&self, rank: u32) -> u32 {
        rank / self.tensor % self.data
    }

    fn stage(&self, rank: u32) -> u32 {
        rank / (self.tensor * self.data)
    }

    /// The rank with the same parts at `stage`.
    fn at_stage(&self, rank: u32, stage: u32) -> u32 {
        let ranks_of_a_stage = self.tensor * self.data;
        rank % ranks_of_a_stage + stage * ranks_of_a_stage
    }

    fn number(&self, tensor: u32, data: u32, stage: u32) -> u32 {
        tensor + self.tensor * (data + self.data * stage)
    }

    /// Ranks that share the matrices of `rank`.
    fn tensor_group(&self, rank: u32) -> Group {
        Group {
            first: self.number(0, self.data_part(rank), self.stage(rank)),
            stride: 1,
            size: self.tensor,
        }
    }

    /// Ranks with the same weights, but for experts.
    fn data_group(&self, rank: u32) -> Group {
        Group {
            first: self.number(self.tensor_part(rank), 0, self.stage(rank)),
            stride: self.tensor,
            size: self.data,
        }
    }

    /// Ranks that exchange tokens.
    fn expert_group(&self, rank: u32) -> Group {
        let part = self.data_part(rank);
        Group {
            first: self.number(
                self.tensor_part(rank),
                part - part % self.expert,
                self.stage(rank),
            ),
            stride: self.tensor,
            size: self.expert,
        }
    }

    /// Ranks with the same experts.
    fn expert_data_group(&self, rank: u32) -> Group {
        let part = self.data_part(rank) % self.expert;
        Group {
            first: self.number(self.tensor_part(rank), part, self.stage(rank)),
            stride: self.tensor * self.expert,
            size: self.data / self.expert,
        }
    }
}

impl TrainingSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        let Layout {
            tensor,
            data,
            pipeline,
            expert,
        } = self.layout;
        let ranks = [data, pipeline]
            .iter()
            .fold(u64::from(tensor), |ranks, part| {
                ranks.saturating_mul(u64::from(*part))
            });
        if ranks > RANKS_MAX {
            return Err(format!(
                "`tensor` * `data` * `pipeline` is {ranks}; at most {RANKS_MAX} ranks are possible"
            ));
        }
        let wholes = [
            ("`layers`", self.model.layers, "`pipeline`", pipeline),
            ("`data`", data, "`expert`", expert),
            ("`experts`", self.model.experts, "`expert`", expert),
        ];
        for (name, value, divisor_name, divisor) in wholes {
            if divisor == 0 || !value.is_multiple_of(divisor) {
                return Err(format!(
                    "{name} is {value}, which is no multiple of {divisor_name} = {divisor}"
                ));
            }
        }
        if self.model.top_k > self.model.experts {
            return Err(format!(
                "`top_k` is {}, but a layer has {} experts",
                self.model.top_k, self.model.experts
            ));
        }
        match self.gradients {
            Algorithm::Hierarchical(node) if node == 0 || !data.is_multiple_of(node) => Err(
                format!("`data` is {data}, which is no multiple of `node_ranks` = {node}"),
            ),
            Algorithm::Hierarchical(node)
                if !(data / expert).is_multiple_of(node) && self.model.experts > 1 =>
            {
                Err(format!(
                    "`data` / `expert` is {}, which is no multiple of `node_ranks` = {node}",
                    data / expert
                ))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn blocks(
        &self,
        rank: u32,
        routing: &Rc<Routing>,
    ) -> impl Iterator<Item = Block> + use<> {
        TrainingBlocks::new(Layers::new(self, rank, Rc::clone(routing)))
    }

    /// How long a rank takes for `operations` floating-point operations.
    fn compute(&self, operations: u128) -> Picos {
        let rate = u128::from(self.operations_per_microsecond);
        let picos = (operations * 1_000_000).checked_div(rate).unwrap_or(0);
        Picos(u64::try_from(picos).unwrap_or(u64::MAX / 4))
    }
}
