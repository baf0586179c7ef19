//! Classic patterns of parallel programs.

use pagemill_types::{Picos, mix64};

use super::super::pattern::{ExchangeSpec, Shuffle};
use super::block::{Block, Exchange};
use super::collective::{ARRAY, Collective, DATA, Operation, PairBytes, Transport};
use super::messages::{Group, Message, Phase};

/// A three-dimensional Fourier transform of complex numbers of 16 bytes. The cube is cut into pencils, one for each rank of a grid;
/// it is turned within each row of the grid, and then within each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FftSpec {
    /// Rows of the grid of ranks.
    pub rows: u32,
    /// Columns of it.
    pub columns: u32,
    /// Points of an edge of the cube.
    pub points: u64,
    /// Transforms.
    pub iterations: u64,
    /// Computation along each dimension.
    pub compute: Picos,
    /// How messages are cut.
    pub transport: Transport,
}

/// Each rank exchanges with the same few others, drawn at random, messages of random lengths: a sparse matrix times a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseSpec {
    /// How many ranks there are.
    pub ranks: u32,
    /// Partners that are drawn for each; one that is drawn twice, or the rank itself, gets one message for each draw, or none.
    pub degree: u32,
    /// Longest message; the mean is half of it.
    pub bytes: u64,
    /// How often.
    pub iterations: u64,
    /// Computation before each exchange.
    pub compute: Picos,
    /// What is drawn depends on it.
    pub seed: u64,
}

/// Workers compute, send gradients to servers, and get weights back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterServerSpec {
    /// Ranks that compute; they come first.
    pub workers: u32,
    /// Ranks that each hold a share of the weights.
    pub servers: u32,
    /// All weights.
    pub bytes: u64,
    /// How often.
    pub iterations: u64,
    /// Computation of a worker.
    pub compute: Picos,
}

/// Bytes of a complex number of double precision.
const COMPLEX_BYTES: u64 = 16;

impl FftSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        let whole = |count: u32| self.points.is_multiple_of(count.max(1).into());
        if whole(self.rows) && whole(self.columns) {
            Ok(())
        } else {
            Err(format!(
                "`points` is {}, which has to be a multiple of `rows` = {} and of `columns` = {}",
                self.points, self.rows, self.columns
            ))
        }
    }

    pub(super) fn blocks(&self, rank: u32) -> impl Iterator<Item = Block> + use<> {
        let spec = *self;
        let row = Group {
            first: rank - rank % spec.columns,
            stride: 1,
            size: spec.columns,
        };
        let column = Group {
            first: rank % spec.columns,
            stride: spec.columns,
            size: spec.rows,
        };
        (0..spec.iterations).flat_map(move |_| {
            [
                Block::compute(spec.compute),
                spec.turn(row, 0),
                Block::compute(spec.compute),
                spec.turn(column, 1),
                Block::compute(spec.compute),
            ]
        })
    }

    /// Exchanges the pencils of `group`; the first turn brings them from one array into the other, the second back.
    fn turn(&self, group: Group, number: u64) -> Block {
        let pencil =
            self.points.pow(3) * COMPLEX_BYTES / u64::from(self.rows) / u64::from(self.columns);
        let arrays = [DATA, DATA + ARRAY];
        let bytes = PairBytes::Same(pencil / u64::from(group.size));
        let target = arrays[(1 - number) as usize];
        Block::exchange(Exchange::Collective(Collective {
            operation: Operation::AllToAll(bytes, target),
            group,
            transport: self.transport,
            address: arrays[number as usize],
        }))
    }
}

impl SparseSpec {
    pub(super) fn blocks(&self, rank: u32) -> impl Iterator<Item = Block> + use<> {
        let spec = *self;
        (0..spec.iterations).flat_map(move |_| {
            let exchange = Block::exchange(Exchange::Messages(spec.exchange(rank)));
            [Block::compute(spec.compute), exchange]
        })
    }

    fn exchange(&self, rank: u32) -> Phase {
        let mut phase = Phase::default();
        for number in 0..self.degree {
            let peer = Shuffle::new(self.ranks, self.seed, number.into()).beside(rank);
            if peer == rank {
                continue;
            }
            let message = |source: u32, direction: u64| Message {
                peer,
                tag: number,
                bytes: self.length(source, number),
                address: DATA + direction * ARRAY + u64::from(number) * self.bytes,
            };
            phase.receive(message(peer, 1));
            phase.send(message(rank, 0));
        }
        phase
    }

    /// Length of the message of `source` to its partner of this number.
    fn length(&self, source: u32, number: u32) -> u64 {
        let drawn = mix64(self.seed ^ mix64(u64::from(source) << 32 | u64::from(number)));
        1 + ((u128::from(drawn) * u128::from(self.bytes)) >> 64) as u64
    }
}

impl ParameterServerSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.bytes < u64::from(self.servers) {
            return Err(format!(
                "`bytes` is {}, less than one for each of {} servers",
                self.bytes, self.servers
            ));
        }
        Ok(())
    }

    pub(super) fn blocks(&self, rank: u32) -> impl Iterator<Item = Block> + use<> {
        let spec = *self;
        (0..spec.iterations).flat_map(move |_| {
            let exchange = |phase| Block::exchange(Exchange::Messages(phase));
            let mut blocks = Vec::with_capacity(2);
            if rank < spec.workers {
                let mut phase = spec.partners(0..spec.servers, |server| {
                    (spec.workers + server, spec.share(server))
                });
                blocks.push(Block::compute(spec.compute));
                // Weights arrive when the server has all gradients.
                phase.sends = phase.receives.clone();
                blocks.push(exchange(phase));
            } else {
                let share = spec.share(rank - spec.workers);
                let phase = spec.partners(0..spec.workers, |worker| (worker, share));
                let sends = phase.receives.clone();
                blocks.push(exchange(phase));
                blocks.push(exchange(Phase {
                    sends,
                    ..Phase::default()
                }));
            }
            blocks
        })
    }

    fn share(&self, server: u32) -> u64 {
        let cut = |number: u32| {
            (u128::from(self.bytes) * u128::from(number) / u128::from(self.servers)) as u64
        };
        cut(server + 1) - cut(server)
    }

    fn partners(&self, range: std::ops::Range<u32>, partner: impl Fn(u32) -> (u32, u64)) -> Phase {
        let mut phase = Phase::default();
        let mut address = DATA;
        for number in range {
            let (peer, bytes) = partner(number);
            phase.receive(Message {
                peer,
                tag: 0,
                bytes,
                address,
            });
            address += bytes;
        }
        phase
    }
}

impl ExchangeSpec {
    pub(super) fn blocks(&self, rank: u32) -> impl Iterator<Item = Block> + use<> {
        let compute = self.compute;
        self.phases_of(rank).flat_map(move |phase| {
            let exchange = Block::exchange(Exchange::Pattern(Box::new(phase)));
            [Block::compute(compute), exchange]
        })
    }
}
