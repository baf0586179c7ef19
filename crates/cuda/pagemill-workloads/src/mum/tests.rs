use super::*;

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
            tree: OnceLock::new(),
        };
        let (mut genome, mut queries) = (vec![0; 1000], vec![0; program.query_bytes() as usize]);
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
