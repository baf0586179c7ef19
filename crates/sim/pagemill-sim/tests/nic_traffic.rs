//! Generated programs: every message has its receive, nothing waits for ever even where every send waits for its receive, and sizes
//! and times are those of closed forms.

use std::collections::{BTreeMap, VecDeque};

use pagemill_sim::nic::goal::parse;
use pagemill_sim::nic::pattern::{ExchangePattern, ExchangeSpec};
use pagemill_sim::nic::traffic::{
    Algorithm, Block, Blocks, CollectiveKind, CollectiveSpec, FftSpec, Layout, MODELS, Message,
    ModelSpec, ParameterServerSpec, Phase, Popularity, SparseSpec, TensorExchange, TrafficSpec,
    TrainingSpec, Transport, write_goal,
};
use pagemill_sim::nic::{NicMachine, World};
use pagemill_types::Picos;
use proptest::prelude::*;

/// A driver without time: a message is over when its send and its receive are there, and a rank runs when it can.
#[derive(Default)]
struct Meetings {
    /// Ends that wait, by sender, receiver and tag: bytes, and the rank and lane to tell.
    sends: BTreeMap<(u32, u32, u32), VecDeque<(u64, Waiter)>>,
    receives: BTreeMap<(u32, u32, u32), VecDeque<(u64, Waiter)>>,
    messages: u64,
    bytes: u64,
}

/// A rank, and its lane if that waits.
type Waiter = (u32, Option<usize>);

struct Walker {
    blocks: Blocks,
    block: Option<Block>,
    /// Next phase, messages left, and whether the lane is over.
    lanes: Vec<(u64, usize, bool)>,
}

impl Meetings {
    fn offer(&mut self, waiter: Waiter, message: &Message, is_send: bool) -> Option<[Waiter; 2]> {
        let (rank, peer) = (waiter.0, message.peer);
        let key = if is_send {
            (rank, peer, message.tag)
        } else {
            (peer, rank, message.tag)
        };
        let (own, others) = if is_send {
            (&mut self.sends, &mut self.receives)
        } else {
            (&mut self.receives, &mut self.sends)
        };
        match others.entry(key).or_default().pop_front() {
            None => {
                own.entry(key)
                    .or_default()
                    .push_back((message.bytes, waiter));
                None
            }
            Some((bytes, other)) => {
                assert_eq!(bytes, message.bytes, "{key:?}");
                self.messages += 1;
                self.bytes += bytes;
                Some([waiter, other])
            }
        }
    }
}

/// Messages and bytes of a whole run.
fn walk(spec: &TrafficSpec) -> (u64, u64) {
    let routing = spec.routing(usize::MAX);
    let mut ranks: Vec<Walker> = (0..spec.ranks())
        .map(|rank| Walker {
            blocks: spec.blocks(rank, &routing),
            block: None,
            lanes: Vec::new(),
        })
        .collect();
    let mut meetings = Meetings::default();
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..spec.ranks() {
            while step(rank, &mut ranks, &mut meetings) {
                moved = true;
            }
        }
    }
    for (rank, walker) in ranks.iter().enumerate() {
        assert!(walker.block.is_none(), "rank {rank} of {spec:?} is stuck");
    }
    let left = meetings.sends.values().chain(meetings.receives.values());
    assert_eq!(left.map(VecDeque::len).sum::<usize>(), 0, "{spec:?}");
    (meetings.messages, meetings.bytes)
}

/// Lets `rank` do one thing; says whether it could.
fn step(rank: u32, ranks: &mut [Walker], meetings: &mut Meetings) -> bool {
    let walker = &mut ranks[rank as usize];
    let Some(block) = &walker.block else {
        walker.block = walker.blocks.next();
        let lanes = walker
            .block
            .as_ref()
            .map_or(0, |block| block.exchange.lanes());
        walker.lanes = vec![(0, 0, false); lanes as usize];
        return walker.block.is_some();
    };
    let idle = |&(_, left, is_over): &(u64, usize, bool)| left == 0 && !is_over;
    let Some(lane) = walker.lanes.iter().position(idle) else {
        let is_over = walker.lanes.iter().all(|lane| lane.1 == 0);
        if is_over {
            walker.block = None;
        }
        return is_over;
    };
    let mut phase = Phase::default();
    let is_there = (block.exchange).phase(rank, lane as u32, walker.lanes[lane].0, &mut phase);
    let waits = !block.exchange.is_detached();
    walker.lanes[lane] = (
        walker.lanes[lane].0 + 1,
        if waits { phase.messages() } else { 0 },
        !is_there,
    );
    let waiter = (rank, Some(lane).filter(|_| waits));
    let receives = phase.receives.iter().map(|message| (message, false));
    let sends = phase.sends.iter().map(|message| (message, true));
    for (message, is_send) in receives.chain(sends) {
        let met = meetings.offer(waiter, message, is_send);
        for (rank, lane) in met.into_iter().flatten() {
            if let Some(lane) = lane {
                ranks[rank as usize].lanes[lane].1 -= 1;
            }
        }
    }
    true
}

fn collective(kind: CollectiveKind, ranks: u32, bytes: u64) -> CollectiveSpec {
    CollectiveSpec {
        kind,
        ranks,
        bytes,
        iterations: 1,
        compute: Picos::ZERO,
        transport: Transport {
            channels: 2,
            chunk_bytes: 1000,
            at_once: 3,
            staged: false,
        },
    }
}

fn tiny_model(experts: u32) -> ModelSpec {
    ModelSpec {
        layers: 4,
        hidden: 16,
        feed_forward: 64,
        feed_forward_matrices: 3,
        heads: 4,
        key_value_heads: 2,
        vocabulary: 100,
        experts,
        top_k: experts.min(2),
        number_bytes: 2,
    }
}

fn training(model: ModelSpec, layout: Layout) -> TrainingSpec {
    TrainingSpec {
        model,
        layout,
        micro_batches: 3,
        micro_batch_tokens: 24,
        iterations: 2,
        tensor_exchange: TensorExchange::AllReduce,
        gradients: Algorithm::Ring,
        overlap: false,
        inference: false,
        operations_per_microsecond: 1000,
        transport: Transport {
            chunk_bytes: 4096,
            ..Transport::default()
        },
        popularity: Popularity::Uniform,
        seed: 5,
    }
}

#[test]
fn collectives_send_as_much_as_their_closed_forms() {
    let (vector, others) = (12_345, |ranks: u32| u64::from(ranks) - 1);
    for ranks in [1, 2, 3, 6, 8, 12] {
        let bytes = |kind| walk(&TrafficSpec::Collective(collective(kind, ranks, vector))).1;
        let reduced = 2 * others(ranks) * vector;
        let nodes = Algorithm::Hierarchical(if ranks % 3 == 0 { 3 } else { 1 });
        for algorithm in [Algorithm::Ring, Algorithm::Tree, nodes] {
            let sent = bytes(CollectiveKind::AllReduce(algorithm));
            assert_eq!(sent, reduced, "{algorithm:?} of {ranks}");
        }
        assert_eq!(bytes(CollectiveKind::ReduceScatter), others(ranks) * vector);
        assert_eq!(bytes(CollectiveKind::AllGather), others(ranks) * vector);
        let exchanged = u64::from(ranks) * others(ranks) * vector;
        assert_eq!(bytes(CollectiveKind::AllToAll), exchanged);
    }
}

/// Sum over the parallel forms of how much each has to move, for a model without experts.
#[test]
fn training_sends_as_much_as_its_closed_form() {
    let layout = Layout {
        tensor: 2,
        data: 4,
        pipeline: 2,
        expert: 1,
    };
    let spec = training(tiny_model(1), layout);
    let (model, micro_batches) = (spec.model, 3);
    let activations = 24 * 16 * 2;
    let replicas = 4;
    // Two all-reduces of two ranks in each direction of each layer.
    let tensor = replicas * micro_batches * 4 * 4 * 2 * activations;
    // Both tensor-parallel ranks pass whole activations on, and gradients back.
    let pipeline = replicas * micro_batches * 2 * 2 * activations;
    let weights = u64::from(model.layers)
        * (model.attention_weights() + model.feed_forward_weights())
        + 2 * model.vocabulary_weights();
    let data = 2 * 3 * weights * 2;
    assert_eq!(
        walk(&TrafficSpec::Training(spec)).1,
        2 * (tensor + pipeline + data)
    );
}

#[test]
fn experts_get_each_token_as_often_as_it_has_experts() {
    let layout = Layout {
        tensor: 1,
        data: 4,
        pipeline: 1,
        expert: 4,
    };
    let model = ModelSpec {
        layers: 1,
        ..tiny_model(4)
    };
    let spec = TrainingSpec {
        inference: true,
        micro_batch_tokens: 5000,
        iterations: 1,
        ..training(model, layout)
    };
    let sent = walk(&TrafficSpec::Training(spec)).1;
    // Two of four experts, one of which is the own: three in four tokens leave, and come back.
    let tokens = 2 * 4 * 3 * 5000 * 2 * 3 / 4;
    let all = tokens * 16 * 2;
    assert!(sent.abs_diff(all) < all / 100, "{sent} for {all}");
}

#[test]
fn a_ring_takes_the_time_of_its_latencies_and_of_its_bytes() {
    // One exchange with both neighbors takes alpha + beta * bytes; a ring of n ranks has 2 (n - 1) of them, of 1 / n of the vector.
    let run = |ranks: u32, bytes: u64| {
        let spec = CollectiveSpec {
            transport: Transport {
                channels: 1,
                chunk_bytes: 1 << 30,
                staged: true,
                ..Transport::default()
            },
            ..collective(CollectiveKind::AllReduce(Algorithm::Ring), ranks, bytes)
        };
        let report = TrafficSpec::Collective(spec)
            .run(&NicMachine::pni())
            .unwrap();
        report.world.end.0 as f64
    };
    // Two ranks have two such exchanges of half of the vector.
    let step = |bytes: u64| run(2, 2 * bytes) / 2.0;
    let (small, large) = (64 << 10, 1 << 20);
    let beta = (step(large) - step(small)) / (large - small) as f64;
    let alpha = step(small) - beta * small as f64;
    for ranks in [3_u32, 8, 16] {
        for part in [100_000_u64, 600_000] {
            let expected = f64::from(2 * (ranks - 1)) * (alpha + beta * part as f64);
            let error = run(ranks, u64::from(ranks) * part) / expected - 1.0;
            assert!(error.abs() < 0.02, "{ranks} ranks, {part} bytes: {error}");
        }
    }
}

#[test]
fn trees_are_faster_for_short_vectors_and_rings_for_long_ones() {
    let time = |algorithm, bytes| {
        let spec = CollectiveSpec {
            transport: Transport::default(),
            ..collective(CollectiveKind::AllReduce(algorithm), 32, bytes)
        };
        TrafficSpec::Collective(spec)
            .run(&NicMachine::pni())
            .unwrap()
            .world
            .end
    };
    let (ring, tree) = (Algorithm::Ring, Algorithm::Tree);
    assert!(time(tree, 1024) < time(ring, 1024));
    assert!(time(tree, 64 << 20) > time(ring, 64 << 20));
}

#[test]
fn gradients_are_hidden_behind_computation() {
    let layout = Layout {
        tensor: 1,
        data: 4,
        pipeline: 1,
        expert: 1,
    };
    let time = |overlap, operations_per_microsecond| {
        let spec = TrainingSpec {
            overlap,
            operations_per_microsecond,
            ..training(tiny_model(1), layout)
        };
        TrafficSpec::Training(spec)
            .run(&NicMachine::pni())
            .unwrap()
            .world
            .end
    };
    assert!(time(true, 1000) < time(false, 1000));
    // Without computation there is nothing to hide behind.
    let (with, without) = (time(true, 0).0 as f64, time(false, 0).0 as f64);
    assert!((with / without - 1.0).abs() < 0.1, "{with} {without}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let layout = Layout {
        tensor: 1,
        data: 4,
        pipeline: 3,
        expert: 1,
    };
    let error = TrafficSpec::Training(training(tiny_model(1), layout)).check();
    assert!(error.unwrap_err().contains("`pipeline` = 3"));
    let layout = Layout {
        pipeline: 1,
        expert: 3,
        ..layout
    };
    let error = TrafficSpec::Training(training(tiny_model(4), layout)).check();
    assert!(error.unwrap_err().contains("`expert` = 3"));
    let hierarchical = CollectiveKind::AllReduce(Algorithm::Hierarchical(3));
    let error = TrafficSpec::Collective(collective(hierarchical, 8, 8)).check();
    assert!(error.unwrap_err().contains("`node_ranks`"));
}

#[test]
fn only_the_last_blocks_are_held() {
    // A model of full size: the blocks of a rank are taken one by one, and none holds a list of messages.
    let model = MODELS
        .iter()
        .find(|model| model.name == "moe-8x70b")
        .unwrap();
    let layout = Layout {
        tensor: 4,
        data: 16,
        pipeline: 4,
        expert: 8,
    };
    let spec = TrainingSpec {
        micro_batch_tokens: 64,
        ..training(model.spec, layout)
    };
    let spec = TrafficSpec::Training(spec);
    assert_eq!(spec.ranks(), 256);
    let routing = spec.routing(1);
    let blocks = spec.blocks(255, &routing).count();
    // Per layer and direction: two computations and all-reduces, two exchanges of tokens.
    assert!(blocks > 2 * 3 * 20 * 2 * 6 && blocks < 2000, "{blocks}");
}

fn any_collective() -> impl Strategy<Value = TrafficSpec> {
    let kind = prop_oneof![
        Just(CollectiveKind::AllReduce(Algorithm::Ring)),
        Just(CollectiveKind::AllReduce(Algorithm::Tree)),
        Just(CollectiveKind::AllReduce(Algorithm::Hierarchical(2))),
        Just(CollectiveKind::ReduceScatter),
        Just(CollectiveKind::AllGather),
        Just(CollectiveKind::AllToAll),
    ];
    let sizes = (1_u32..7, 1_u64..40_000, 1_u32..4, 1_u64..5000, 1_u32..5);
    (kind, sizes, any::<bool>()).prop_map(|(kind, sizes, staged)| {
        let (half, bytes, channels, chunk_bytes, at_once) = sizes;
        TrafficSpec::Collective(CollectiveSpec {
            transport: Transport {
                channels,
                chunk_bytes,
                at_once,
                staged,
            },
            iterations: 2,
            ..collective(kind, 2 * half, bytes)
        })
    })
}

fn any_training() -> impl Strategy<Value = TrafficSpec> {
    let power = || prop_oneof![Just(1_u32), Just(2), Just(4)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (power(), power(), power(), power(), 1_u32..7, flags).prop_map(
        |(tensor, groups, pipeline, expert, micro_batches, flags)| {
            let (gather, inference, overlap, tree) = flags;
            let layout = Layout {
                tensor,
                data: groups * expert,
                pipeline,
                expert,
            };
            TrafficSpec::Training(TrainingSpec {
                micro_batches,
                inference,
                overlap,
                tensor_exchange: if gather {
                    TensorExchange::GatherScatter
                } else {
                    TensorExchange::AllReduce
                },
                gradients: if tree {
                    Algorithm::Tree
                } else {
                    Algorithm::Ring
                },
                popularity: Popularity::Zipf,
                ..training(tiny_model(expert), layout)
            })
        },
    )
}

fn any_classic() -> impl Strategy<Value = TrafficSpec> {
    let transport = Transport::default();
    let fft = (1_u32..4, 1_u32..4).prop_map(move |(rows, columns)| {
        TrafficSpec::Fft(FftSpec {
            rows,
            columns,
            points: 12,
            iterations: 2,
            compute: Picos(1000),
            transport,
        })
    });
    let sparse = (1_u32..9, 0_u32..5, any::<u64>()).prop_map(|(ranks, degree, seed)| {
        TrafficSpec::Sparse(SparseSpec {
            ranks,
            degree,
            bytes: 40_000,
            iterations: 3,
            compute: Picos(1000),
            seed,
        })
    });
    let servers = (1_u32..6, 1_u32..4).prop_map(|(workers, servers)| {
        TrafficSpec::ParameterServer(ParameterServerSpec {
            workers,
            servers,
            bytes: 100_000,
            iterations: 3,
            compute: Picos(1000),
        })
    });
    let pattern = prop_oneof![
        Just(ExchangePattern::Ring),
        Just(ExchangePattern::AllToAll),
        Just(ExchangePattern::Halo),
        Just(ExchangePattern::Incast),
        Just(ExchangePattern::Pairs { seed: 3 }),
    ];
    let exchange = (pattern, 2_u32..9).prop_map(|(pattern, ranks)| {
        TrafficSpec::Exchange(ExchangeSpec {
            pattern,
            ranks,
            bytes: 20_000,
            iterations: 2,
            compute: Picos(1000),
        })
    });
    prop_oneof![fft, sparse, servers, exchange]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Over the interface, as a GOAL schedule, and without time, the same messages are sent, and all of them arrive.
    #[test]
    fn all_three_drivers_send_the_same(spec in prop_oneof![any_collective(), any_training(), any_classic()]) {
        prop_assert_eq!(spec.check(), Ok(()));
        let (messages, bytes) = walk(&spec);
        let machine = NicMachine::pni();
        let report = spec.run(&machine).unwrap();
        prop_assert_eq!((report.messages, report.bytes), (messages, bytes));
        prop_assert_eq!(report, spec.run(&machine).unwrap());
        let mut text = Vec::new();
        write_goal(&spec, &mut text).unwrap();
        let goal = parse("generated", text.as_slice()).unwrap();
        prop_assert_eq!((goal.messages(), goal.bytes()), (messages, bytes));
        prop_assert!(goal.run(&machine).is_ok());
    }

    /// The two ways to run an exchange pattern take the same time.
    #[test]
    fn patterns_take_the_time_that_they_always_took(ranks in 2_u32..7, bytes in 1_u64..50_000) {
        let pattern = ExchangePattern::Halo;
        let spec = ExchangeSpec { pattern, ranks, bytes, iterations: 3, compute: Picos(5000) };
        let machine = NicMachine::pni();
        let report = World::new(&machine, spec.programs()).unwrap().run().unwrap();
        prop_assert_eq!(TrafficSpec::Exchange(spec).run(&machine).unwrap().world, report);
    }
}
