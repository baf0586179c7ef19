//! The managed allocations of a user's program, one by one.

use pagemill_wire::Results;

/// A managed allocation of a program, in the order of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The site that made it.
    pub site: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether it is a `__managed__` variable, which no call allocates.
    pub is_variable: bool,
    /// The first launch that anything moved for, from 0.
    pub first_launch: Option<u32>,
}

/// The managed allocations of each process that has any.
pub(crate) fn made(results: &[Results]) -> Vec<Vec<Made>> {
    let of_process = |results: &Results| -> Vec<Made> {
        let Some(sites) = &results.sites else {
            return Vec::new();
        };
        let reports = results.report.allocations.iter().zip(&sites.allocations);
        let known =
            reports.filter_map(|(report, &site)| Some((report, sites.stacks.get(site as usize)?)));
        known
            .map(|(report, stack)| Made {
                site: stack.key(),
                bytes: report.bytes,
                is_variable: stack.variable.is_some(),
                first_launch: report.traffic.first_launch,
            })
            .collect()
    };
    let processes = results.iter().map(of_process);
    processes.filter(|made| !made.is_empty()).collect()
}
