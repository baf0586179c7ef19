//! Exact matching in a suffix tree: pointer chasing over a structure much larger than any cache.

use std::sync::OnceLock;

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

mod certificate;
mod suffix_tree;

const NAME: &str = "mum";
const THREADS_PER_BLOCK: u32 = 256;
/// One base in this many of a query differs from the genome.
const BASES_PER_MUTATION: u64 = 32;
/// A query of at most this many bases fits in 64 bits, two bits a base, which is how the check looks it up.
const MAXIMUM_QUERY: u64 = 32;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "MUM: longest matches of short reads in the suffix tree of a genome: pointer chasing",
    source: include_str!("../../../../workloads/mum/mum.cu"),
    ptx: include_str!("../../../../workloads/mum/mum.ptx"),
    parameters: &[
        Parameter::count(
            "genome_bases",
            1_400_000,
            1,
            (1 << 31) - 1,
            "length of the genome",
        ),
        Parameter::count(
            "queries",
            50_000,
            1,
            1 << 28,
            "number of reads, one thread each",
        ),
        Parameter::count("query_length", 25, 1, MAXIMUM_QUERY, "bases of a read"),
        Parameter::count(
            "minimum_match",
            20,
            1,
            MAXIMUM_QUERY,
            "shortest match that is reported, in bases",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let [genome_bases, queries, query_length, minimum_match] =
        ["genome_bases", "queries", "query_length", "minimum_match"]
            .map(|name| values.get_u32(name));
    values.require(query_length <= genome_bases, "query_length", || {
        format!("1 to {genome_bases}, the length of the genome,")
    })?;
    values.require(minimum_match <= query_length, "minimum_match", || {
        format!("1 to {query_length}, the length of a read,")
    })?;
    let (seed, read_results) = (values.get("seed"), values.flag("read_results"));
    Ok(Box::new(Mum {
        genome_bases,
        queries,
        query_length,
        minimum_match,
        seed,
        read_results,
        tree: OnceLock::new(),
    }))
}

#[derive(Debug)]
struct Mum {
    genome_bases: u32,
    queries: u32,
    query_length: u32,
    minimum_match: u32,
    seed: u64,
    read_results: bool,
    /// The suffix tree of the genome, which all runs need.
    tree: OnceLock<Vec<u8>>,
}

impl Mum {
    fn tree_bytes(&self) -> u64 {
        suffix_tree::capacity_bytes(self.genome_bases)
    }

    fn query_bytes(&self) -> u64 {
        u64::from(self.queries) * u64::from(self.query_length)
    }

    fn matches_per_query(&self) -> u64 {
        u64::from(self.query_length - self.minimum_match + 1)
    }

    fn match_bytes(&self) -> u64 {
        u64::from(self.queries) * self.matches_per_query() * 8
    }

    /// Bases are numbered 0 to 3.
    fn write_genome(&self, genome: &mut [u8]) {
        let random = Random::new(self.seed, 0);
        for (chunk, bases) in (0..).zip(genome.chunks_mut(32)) {
            let bits = random.bits(chunk);
            for (place, base) in bases.iter_mut().enumerate() {
                *base = (bits >> (2 * place) & 3) as u8;
            }
        }
    }

    /// Reads from random places of the genome, some of their bases replaced.
    fn write_queries(&self, genome: &[u8], queries: &mut [u8]) {
        let [start, mutation] = [1, 2].map(|stream| Random::new(self.seed, stream));
        let length = self.query_length as usize;
        let starts = u64::from(self.genome_bases - self.query_length) + 1;
        for (index, query) in (0..).zip(queries.chunks_exact_mut(length)) {
            let from = start.below(index, starts) as usize;
            query.copy_from_slice(&genome[from..from + length]);
            for (place, base) in (0..).zip(query) {
                let draw = mutation.below(index * MAXIMUM_QUERY + place, 3 * BASES_PER_MUTATION);
                if draw < 3 {
                    *base = (*base + 1 + draw as u8) % 4;
                }
            }
        }
    }
}

impl Workload for Mum {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("mum.ptx", INFO.ptx)?;
        let genome = input(host, "genome", u64::from(self.genome_bases), |bytes| {
            self.write_genome(bytes)
        })?;
        let text = host.gpu.host_bytes(genome).to_vec();
        let tree = host.alloc("tree", self.tree_bytes())?;
        let built = self.tree.get_or_init(|| {
            let mut memory = vec![0; self.tree_bytes() as usize];
            let used = suffix_tree::build(&text, &mut memory);
            memory.truncate(used as usize);
            memory
        });
        host.gpu.host_bytes_mut(tree)[..built.len()].copy_from_slice(built);
        host.copy_to_gpu(tree, 0..built.len() as u64)?;
        let queries = input(host, "queries", self.query_bytes(), |bytes| {
            self.write_queries(&text, bytes)
        })?;
        drop(text);
        let matches = host.alloc("matches", self.match_bytes())?;

        let args = [
            Arg::Buffer(tree),
            Arg::Buffer(genome),
            Arg::U32(self.genome_bases),
            Arg::Buffer(queries),
            Arg::U32(self.queries),
            Arg::U32(self.query_length),
            Arg::U32(self.minimum_match),
            Arg::Buffer(matches),
        ];
        let grid = [self.queries.div_ceil(THREADS_PER_BLOCK), 1, 1];
        host.launch(
            module,
            "mum_match",
            grid,
            [THREADS_PER_BLOCK, 1, 1],
            0,
            &args,
        )?;
        download_results(host, self.read_results, &[matches])?;

        let mut check = Check::bit_exact(NAME);
        let certificate = certificate::Certificate {
            genome: host.gpu.host_bytes(genome),
            queries: host.gpu.host_bytes(queries),
            query_length: self.query_length as usize,
            minimum_match: self.minimum_match as usize,
        };
        certificate.check(host.gpu.host_bytes(matches), &mut check)?;
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        self.tree_bytes() + u64::from(self.genome_bases) + self.query_bytes() + self.match_bytes()
    }
}

#[cfg(test)]
mod tests;
