//! Keys of generated programs.

use pagemill_sim::nic::traffic::{
    Algorithm, CollectiveKind, CollectiveSpec, FftSpec, Layout, MODELS, ModelSpec,
    ParameterServerSpec, Popularity, SparseSpec, TensorExchange, TrafficSpec, TrainingSpec,
    Transport,
};
use pagemill_types::Picos;

use super::{ITERATIONS_MAX, message_bytes};
use crate::document::Section;
use crate::error::Problem;
use crate::quantity;

const COLLECTIVE: &str = "collective";
const TRAINING: &str = "training";
const INFERENCE: &str = "inference";
const FFT: &str = "fft";
const SPARSE: &str = "sparse";
const PARAMETER_SERVER: &str = "parameter-server";

/// The names, and what they are.
pub(super) const WORKLOADS: [(&str, &str); 6] = [
    (
        COLLECTIVE,
        "an operation of all ranks, again and again: all-reduce, reduce-scatter, all-gather or all-to-all",
    ),
    (
        TRAINING,
        "a language model is trained by data, tensor, pipeline and expert parallelism",
    ),
    (
        INFERENCE,
        "a language model is evaluated by the same forms of parallelism",
    ),
    (
        FFT,
        "a cube of complex numbers is transformed: exchanges within rows and columns of ranks",
    ),
    (
        SPARSE,
        "each rank exchanges messages of random lengths with the same few others",
    ),
    (
        PARAMETER_SERVER,
        "workers send gradients to servers and get weights back",
    ),
];

/// The workload name of `spec`; `None` of a plain pattern.
pub(super) fn name(spec: &TrafficSpec) -> Option<&'static str> {
    Some(match spec {
        TrafficSpec::Collective(_) => COLLECTIVE,
        TrafficSpec::Training(spec) if spec.inference => INFERENCE,
        TrafficSpec::Training(_) => TRAINING,
        TrafficSpec::Fft(_) => FFT,
        TrafficSpec::Sparse(_) => SPARSE,
        TrafficSpec::ParameterServer(_) => PARAMETER_SERVER,
        TrafficSpec::Exchange(_) => return None,
    })
}

/// The workload `name`, if it is one of [`WORKLOADS`], with sound numbers.
pub(super) fn read(name: &str, section: &mut Section<'_>, seed: u64) -> Option<TrafficSpec> {
    let spec = match name {
        COLLECTIVE => TrafficSpec::Collective(read_collective(section)?),
        TRAINING => TrafficSpec::Training(read_model_program(section, seed, false)?),
        INFERENCE => TrafficSpec::Training(read_model_program(section, seed, true)?),
        FFT => TrafficSpec::Fft(read_fft(section)?),
        SPARSE => TrafficSpec::Sparse(read_sparse(section, seed)?),
        _ => TrafficSpec::ParameterServer(read_parameter_server(section)?),
    };
    match spec.check() {
        Ok(()) => Some(spec),
        Err(message) => {
            section.report(Problem::at(section.origin(), message));
            None
        }
    }
}

/// More ranks, or parts of anything, are taken for a mistake.
const COUNT_MAX: u64 = 1 << 20;

fn count(section: &mut Section<'_>, key: &str, default: u32) -> Option<u32> {
    let found = section.or(key, default.into(), quantity::count(1..=COUNT_MAX));
    found.map(|count| count as u32)
}

fn required_count(section: &mut Section<'_>, key: &str) -> Option<u32> {
    let found = section.required(key, quantity::count(1..=COUNT_MAX));
    found.map(|count| count as u32)
}

fn iterations(section: &mut Section<'_>, default: u64) -> Option<u64> {
    section.or("iterations", default, quantity::count(1..=ITERATIONS_MAX))
}

fn compute(section: &mut Section<'_>) -> Option<Picos> {
    section.or("compute", Picos::ZERO, quantity::time)
}

fn read_transport(section: &mut Section<'_>) -> Option<Transport> {
    let default = Transport::default();
    let channels = section.or(
        "channels",
        default.channels.into(),
        quantity::count(1..=1024),
    );
    let chunk_bytes = section.or("chunk", default.chunk_bytes, message_bytes);
    let at_once = count(section, "at_once", default.at_once);
    let staged = section.or(
        "buffers",
        default.staged,
        quantity::one_of("kinds of buffers", &[("data", false), ("staged", true)]),
    );
    let chunk_bytes = chunk_bytes?;
    if chunk_bytes == 0 {
        section.report(Problem::at(
            section.origin_of("chunk"),
            "`chunk` has to be at least 1 B".to_owned(),
        ));
        return None;
    }
    Some(Transport {
        channels: channels? as u32,
        chunk_bytes,
        at_once: at_once?,
        staged: staged?,
    })
}

/// The algorithm that `key` names.
fn read_algorithm(section: &mut Section<'_>, key: &str) -> Option<Algorithm> {
    let name = section.or(
        key,
        "ring".to_owned(),
        quantity::choice("algorithms", &["ring", "tree", "hierarchical"]),
    );
    // A sweep over algorithms has it for all of them.
    let node_ranks = match name.as_deref() {
        Some("hierarchical") => required_count(section, "node_ranks"),
        _ => count(section, "node_ranks", 1),
    };
    Some(match name?.as_str() {
        "ring" => Algorithm::Ring,
        "tree" => Algorithm::Tree,
        _ => Algorithm::Hierarchical(node_ranks?),
    })
}

fn read_collective(section: &mut Section<'_>) -> Option<CollectiveSpec> {
    let operations = ["all-reduce", "reduce-scatter", "all-gather", "all-to-all"];
    let operation = section.required("operation", quantity::choice("operations", &operations));
    let ranks = required_count(section, "ranks");
    let bytes = section.required("bytes", message_bytes);
    let iterations = iterations(section, 10);
    let compute = compute(section);
    let transport = read_transport(section);
    let Some(operation) = operation else {
        section.pass_over();
        return None;
    };
    let kind = match operation.as_str() {
        "all-reduce" => CollectiveKind::AllReduce(read_algorithm(section, "algorithm")?),
        "reduce-scatter" => CollectiveKind::ReduceScatter,
        "all-gather" => CollectiveKind::AllGather,
        _ => CollectiveKind::AllToAll,
    };
    Some(CollectiveSpec {
        kind,
        ranks: ranks?,
        bytes: bytes?,
        iterations: iterations?,
        compute: compute?,
        transport: transport?,
    })
}

/// The model that `model` names, with other figures where they are given.
fn read_model(section: &mut Section<'_>) -> Option<ModelSpec> {
    let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let name = section.required("model", quantity::choice("models", &names));
    let known = name.and_then(|name| MODELS.iter().find(|model| model.name == name));
    let spec = known.map_or(MODELS[0].spec, |model| model.spec);
    let mut figure = |key: &str, value: u64, most: u64| {
        let found = section.or(key, value, quantity::count(1..=most));
        found.unwrap_or(value)
    };
    let spec = ModelSpec {
        layers: figure("layers", spec.layers.into(), 1 << 16) as u32,
        hidden: figure("hidden", spec.hidden, COUNT_MAX),
        feed_forward: figure("feed_forward", spec.feed_forward, COUNT_MAX),
        feed_forward_matrices: figure("feed_forward_matrices", spec.feed_forward_matrices, 8),
        heads: figure("heads", spec.heads, COUNT_MAX),
        key_value_heads: figure("key_value_heads", spec.key_value_heads, COUNT_MAX),
        vocabulary: figure("vocabulary", spec.vocabulary, 1 << 24),
        experts: figure("experts", spec.experts.into(), 1 << 16) as u32,
        top_k: figure("top_k", spec.top_k.into(), 1 << 10) as u32,
        number_bytes: figure("number_bytes", spec.number_bytes, 8),
    };
    known.map(|_| spec)
}

fn read_layout(section: &mut Section<'_>) -> Option<Layout> {
    let mut part = |key: &str| count(section, key, 1);
    let (tensor, data) = (part("tensor"), part("data"));
    let (pipeline, expert) = (part("pipeline"), part("expert"));
    Some(Layout {
        tensor: tensor?,
        data: data?,
        pipeline: pipeline?,
        expert: expert?,
    })
}

fn read_model_program(
    section: &mut Section<'_>,
    seed: u64,
    inference: bool,
) -> Option<TrainingSpec> {
    let model = read_model(section);
    let layout = read_layout(section);
    let micro_batches = count(section, "micro_batches", 8);
    let tokens = section.or("micro_batch_tokens", 4096, quantity::count(1..=1 << 24));
    let iterations = iterations(section, 1);
    let tensor_exchange = section.or(
        "tensor_exchange",
        TensorExchange::AllReduce,
        quantity::one_of(
            "exchanges of tensor parallelism",
            &[
                ("all-reduce", TensorExchange::AllReduce),
                ("gather-scatter", TensorExchange::GatherScatter),
            ],
        ),
    );
    let (gradients, overlap) = match inference {
        true => (Some(Algorithm::Ring), Some(false)),
        false => (
            read_algorithm(section, "gradients"),
            section.or("overlap", false, quantity::boolean),
        ),
    };
    let rate = section.or(
        "tera_operations_per_second",
        0,
        quantity::count(0..=1_000_000),
    );
    let popularity = section.or(
        "routing",
        Popularity::Uniform,
        quantity::one_of(
            "ways to choose experts",
            &[("uniform", Popularity::Uniform), ("zipf", Popularity::Zipf)],
        ),
    );
    let transport = read_transport(section);
    Some(TrainingSpec {
        model: model?,
        layout: layout?,
        micro_batches: micro_batches?,
        micro_batch_tokens: tokens?,
        iterations: iterations?,
        tensor_exchange: tensor_exchange?,
        gradients: gradients?,
        overlap: overlap?,
        inference,
        operations_per_microsecond: rate? * 1_000_000,
        transport: transport?,
        popularity: popularity?,
        seed,
    })
}

fn read_fft(section: &mut Section<'_>) -> Option<FftSpec> {
    let grid_edge = quantity::count(1..=1024);
    let rows = section.required("rows", &grid_edge);
    let columns = section.required("columns", &grid_edge);
    let points = section.required("points", quantity::count(1..=1 << 16));
    let iterations = iterations(section, 10);
    let compute = compute(section);
    let transport = read_transport(section);
    Some(FftSpec {
        rows: rows? as u32,
        columns: columns? as u32,
        points: points?,
        iterations: iterations?,
        compute: compute?,
        transport: transport?,
    })
}

fn read_sparse(section: &mut Section<'_>, seed: u64) -> Option<SparseSpec> {
    let ranks = required_count(section, "ranks");
    let degree = section.or("degree", 8, quantity::count(0..=1 << 10));
    let bytes = section.required("bytes", message_bytes);
    let iterations = iterations(section, 10);
    let compute = compute(section);
    Some(SparseSpec {
        ranks: ranks?,
        degree: degree? as u32,
        bytes: bytes?,
        iterations: iterations?,
        compute: compute?,
        seed,
    })
}

fn read_parameter_server(section: &mut Section<'_>) -> Option<ParameterServerSpec> {
    let parts = quantity::count(1..=COUNT_MAX / 2);
    let workers = section.required("workers", &parts);
    let servers = section.required("servers", &parts);
    let bytes = section.required("bytes", message_bytes);
    let iterations = iterations(section, 10);
    let compute = compute(section);
    Some(ParameterServerSpec {
        workers: workers? as u32,
        servers: servers? as u32,
        bytes: bytes?,
        iterations: iterations?,
        compute: compute?,
    })
}
