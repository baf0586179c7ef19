//! Exact matching in a suffix tree: pointer chasing over a structure much larger than any cache.

use std::collections::{BTreeMap, HashSet};

use pagemill_sim::{Arg, Gpu};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::words;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

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
    source: include_str!("../../../workloads/mum/mum.cu"),
    ptx: include_str!("../../../workloads/mum/mum.ptx"),
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
    fn run(&self, gpu: &mut Gpu) -> Result<Checked, WorkloadError> {
        let module = gpu.load_module("mum.ptx", INFO.ptx)?;
        let genome = input(gpu, "genome", u64::from(self.genome_bases), |bytes| {
            self.write_genome(bytes)
        })?;
        // The host program holds the genome beside the tree while it builds it; the tree is built where it will be used.
        let text = gpu.host_bytes(genome).to_vec();
        let tree = gpu.alloc("tree", self.tree_bytes())?;
        let tree_used = suffix_tree::build(&text, gpu.host_bytes_mut(tree));
        gpu.copy_to_gpu(tree, 0..tree_used)?;
        let queries = input(gpu, "queries", self.query_bytes(), |bytes| {
            self.write_queries(&text, bytes)
        })?;
        drop(text);
        let matches = gpu.alloc("matches", self.match_bytes())?;

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
        gpu.launch(
            module,
            "mum_match",
            grid,
            [THREADS_PER_BLOCK, 1, 1],
            0,
            &args,
        )?;
        download_results(gpu, self.read_results, &[matches])?;

        let mut check = Check::bit_exact(NAME);
        let certificate = Certificate {
            genome: gpu.host_bytes(genome),
            queries: gpu.host_bytes(queries),
            query_length: self.query_length as usize,
            minimum_match: self.minimum_match as usize,
        };
        certificate.check(gpu.host_bytes(matches), &mut check)?;
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        self.tree_bytes() + u64::from(self.genome_bases) + self.query_bytes() + self.match_bytes()
    }
}

/// How a match and a place in the genome are reported that agree with each other.
const HOLDS: &str = "as reported";

/// Proves matches right without a suffix tree: each occurs where it says, and one base more occurs nowhere.
struct Certificate<'a> {
    genome: &'a [u8],
    queries: &'a [u8],
    query_length: usize,
    minimum_match: usize,
}

impl Certificate<'_> {
    fn check(&self, matches: &[u8], check: &mut Check) -> Result<(), WorkloadError> {
        let mut absent: BTreeMap<usize, HashSet<u64>> = BTreeMap::new();
        let starts = self.query_length - self.minimum_match + 1;
        let mut found = words::<u32>(matches);
        let mut index = 0;
        for query in self.queries.chunks_exact(self.query_length) {
            for start in 0..starts {
                let (Some(position), Some(length)) = (found.next(), found.next()) else {
                    unreachable!("the matches buffer holds a pair for every start of every query");
                };
                let rest = &query[start..];
                let verdict = if self.occurs(position, length, rest) {
                    HOLDS
                } else {
                    "no match"
                };
                check.equal("matches", index, HOLDS, verdict)?;
                let one_more = if length == 0 {
                    self.minimum_match
                } else {
                    length as usize + 1
                };
                if let Some(longer) = rest.get(..one_more) {
                    absent.entry(one_more).or_default().insert(pack(longer));
                }
                index += 1;
            }
        }
        for (&length, strings) in &absent {
            self.check_absent(length, strings, check)?;
        }
        Ok(())
    }

    /// Whether a reported match is allowed and true; length 0 reports that there is none.
    fn occurs(&self, position: u32, length: u32, rest: &[u8]) -> bool {
        let (position, length) = (position as usize, length as usize);
        let reported = self.genome.get(position..position.saturating_add(length));
        length == 0
            || length >= self.minimum_match && reported.is_some() && reported == rest.get(..length)
    }

    fn check_absent(
        &self,
        length: usize,
        strings: &HashSet<u64>,
        check: &mut Check,
    ) -> Result<(), WorkloadError> {
        let mask = u64::MAX >> (64 - 2 * length);
        let mut window = 0;
        for (end, &base) in self.genome.iter().enumerate() {
            window = (window << 2 | u64::from(base)) & mask;
            if end + 1 >= length {
                let position = (end + 1 - length) as u64;
                let verdict = if strings.contains(&window) {
                    "a longer match"
                } else {
                    HOLDS
                };
                check.equal("genome", position, HOLDS, verdict)?;
            }
        }
        Ok(())
    }
}

fn pack(bases: &[u8]) -> u64 {
    bases
        .iter()
        .fold(0, |packed, &base| packed << 2 | u64::from(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTIFICATE: Certificate<'_> = Certificate {
        genome: &[0, 1, 2, 3, 0, 1, 3],
        queries: &[0, 1, 3, 3],
        query_length: 4,
        minimum_match: 2,
    };

    fn verdict(matches: &[u32]) -> Result<(), WorkloadError> {
        let bytes: Vec<u8> = matches.iter().flat_map(|word| word.to_le_bytes()).collect();
        CERTIFICATE.check(&bytes, &mut Check::bit_exact(NAME))
    }

    #[test]
    fn the_longest_matches_are_accepted() {
        // 013 at 4, 13 at 5, and 33 nowhere.
        verdict(&[4, 3, 5, 2, 0, 0]).expect("right");
    }

    #[test]
    fn shorter_missing_and_false_matches_are_refused() {
        for wrong in [
            [0, 2, 5, 2, 0, 0],
            [4, 3, 0, 0, 0, 0],
            [3, 3, 5, 2, 0, 0],
            [4, 3, 5, 2, 6, 2],
            [4, 3, 5, 1, 0, 0],
        ] {
            verdict(&wrong).expect_err("wrong");
        }
    }

    #[test]
    fn inputs_depend_on_the_seed_alone_and_reads_resemble_the_genome() {
        let inputs = |seed| {
            let program = Mum {
                genome_bases: 1000,
                queries: 200,
                query_length: 25,
                minimum_match: 20,
                seed,
                read_results: false,
            };
            let (mut genome, mut queries) =
                (vec![0; 1000], vec![0; program.query_bytes() as usize]);
            program.write_genome(&mut genome);
            program.write_queries(&genome, &mut queries);
            (genome, queries)
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let (genome, queries) = inputs(1);
        let exact = queries
            .chunks_exact(25)
            .filter(|&query| genome.windows(25).any(|window| window == query))
            .count();
        // A read stays whole with probability (31/32)^25 = 0.45.
        assert!((60..120).contains(&exact), "{exact} of 200 reads are exact");
    }
}
