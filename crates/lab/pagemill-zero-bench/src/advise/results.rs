use pagemill_report::metric::{self, Metric};
use pagemill_report::{Column, ColumnKind, Fact, ResultSet, Row, Value};

use super::judge::{Advice, compare, median};
use super::measure::{PoolUse, Run, Tried};
use super::setting::Setting;
use crate::{Costs, Parts};

/// The comparison as rows, one a setting, and what to use. `pages` are the huge pages that the program needs.
pub fn result_set(program: &str, tried: &[Tried], costs: &Costs, pages: usize) -> ResultSet {
    let walls: Vec<Vec<u64>> = tried
        .iter()
        .map(|one| each(one, |run| run.usage.wall_ns))
        .collect();
    let walls: Vec<&[u64]> = walls.iter().map(Vec::as_slice).collect();
    let advice = compare(&walls);
    let base_ns = median(walls.first().copied().unwrap_or_default());
    let rows = tried.iter().zip(&advice.standings);
    let mut set = ResultSet {
        scenario: "zero-advise".to_owned(),
        title: format!("{program} on each kind of pages"),
        about: about(tried, &advice, &walls, pages),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows: rows
            .map(|(one, standing)| {
                let row = Row::new().parameter("setting", one.setting.name());
                let compared = Compared {
                    one,
                    standing: standing.name(),
                    base_ns,
                    costs,
                };
                metric::add(row, &metrics(), &compared)
            })
            .collect(),
        ..ResultSet::default()
    };
    let best = tried
        .get(advice.best)
        .map_or(Setting::AsIs, |one| one.setting);
    let fact = |name, value: &str, doc| Fact::new(name, value, ColumnKind::Text, doc);
    set.summary.facts = vec![
        fact("use", best.name(), "the kind of pages to use"),
        fact("how", &how(best, pages), "how to use it"),
    ];
    set
}

fn each(one: &Tried, value: impl Fn(&Run) -> u64) -> Vec<u64> {
    one.runs.iter().map(value).collect()
}

/// A setting beside the program as it is.
struct Compared<'a> {
    one: &'a Tried,
    standing: &'a str,
    base_ns: u64,
    costs: &'a Costs,
}

impl Compared<'_> {
    /// The median of a value of its runs, if there were any.
    fn median(&self, value: impl Fn(&Run) -> u64) -> Option<u64> {
        let values = each(self.one, value);
        (!values.is_empty()).then(|| median(&values))
    }

    fn standing(&self) -> &str {
        match (self.one.runs.is_empty(), self.one.setting) {
            (true, _) => "not tried",
            (false, Setting::AsIs) => "-",
            (false, _) => self.standing,
        }
    }

    fn huge_faults(&self) -> Option<u64> {
        self.one.runs.iter().map(|run| run.huge_faults).min()
    }

    /// Where the kernel's time went, of the run with the median of it.
    fn parts(&self) -> Option<Parts> {
        let mut by_kernel: Vec<&Run> = self.one.runs.iter().collect();
        by_kernel.sort_by_key(|run| run.usage.system_ns);
        let usage = by_kernel.get(by_kernel.len() / 2)?.usage;
        let setting = self.one.setting;
        let is_populated = setting == Setting::Populate;
        let parts = self.costs.split(&usage, self.huge_faults()?, is_populated);
        // The sizes of faults of the stock are unknown.
        (!setting.takes_stock()).then_some(parts)
    }

    /// What the runs with a pool used of it.
    fn of_pools(&self, value: impl Fn(&PoolUse) -> u64) -> Option<Vec<u64>> {
        let pools = self.one.runs.iter().filter_map(|run| run.pool.as_ref());
        let values: Vec<u64> = pools.map(value).collect();
        (!values.is_empty()).then_some(values)
    }

    fn note(&self) -> Option<String> {
        match self.one.runs.is_empty() {
            true => Some(
                self.one
                    .obstacle
                    .as_deref()
                    .unwrap_or("it was not run")
                    .to_owned(),
            ),
            false => note(self.one),
        }
    }
}

#[rustfmt::skip]
fn metrics<'a>() -> [Metric<Compared<'a>>; 16] {
    use ColumnKind::{Count, Ratio, Text, TimeNs};
    [
        Metric::new("standing", Text, "beside the program as it is; a difference counts where no two runs overlap", |of| of.standing().into()),
        Metric::sometimes("wall_ns", TimeNs, "elapsed time, median", |of| Some(of.median(|run| run.usage.wall_ns)?.into())),
        Metric::sometimes("wall_least_ns", TimeNs, "elapsed time, fastest run", |of| Some(each(of.one, |run| run.usage.wall_ns).into_iter().min()?.into())),
        Metric::sometimes("wall_most_ns", TimeNs, "elapsed time, slowest run", |of| Some(each(of.one, |run| run.usage.wall_ns).into_iter().max()?.into())),
        Metric::sometimes("wall_ratio", Ratio, "elapsed time beside the program as it is", |of| Some((of.median(|run| run.usage.wall_ns)? as f64 / of.base_ns.max(1) as f64).into())),
        Metric::sometimes("user_ns", TimeNs, "CPU time of the program, median", |of| Some(of.median(|run| run.usage.user_ns)?.into())),
        Metric::sometimes("kernel_ns", TimeNs, "CPU time of the kernel for it, median", |of| Some(of.median(|run| run.usage.system_ns)?.into())),
        Metric::sometimes("faults", Count, "page faults, median", |of| Some(of.median(|run| run.usage.minor_faults)?.into())),
        Metric::sometimes("huge_faults", Count, "faults of the whole machine that got a transparent huge page, least", |of| of.huge_faults().filter(|_| !of.one.setting.takes_stock()).map(Value::from)),
        Metric::sometimes("clearing_ns", TimeNs, "estimate: kernel time of finding and clearing pages", |of| Some(of.parts()?.clearing_ns.round().into())),
        Metric::sometimes("faulting_ns", TimeNs, "estimate: kernel time of entering and leaving", |of| Some(of.parts()?.faulting_ns.round().into())),
        Metric::sometimes("mapping_ns", TimeNs, "estimate: kernel time of page-table entries", |of| Some(of.parts()?.mapping_ns.round().into())),
        Metric::sometimes("pool_pages", Count, "pages that the pool lent, median", |of| Some(median(&of.of_pools(|pool| pool.lent_pages)?).into())),
        Metric::sometimes("pool_refusals", Count, "requests that the pool refused, most", |of| Some(of.of_pools(|pool| pool.refused)?.into_iter().max()?.into())),
        Metric::sometimes("cleaner_cpu_ns", TimeNs, "CPU time of the pool's cleaner, median", |of| Some(median(&of.of_pools(|pool| pool.cleaner_cpu_ns)?).into())),
        Metric::sometimes("note", Text, "what could not be tried, or had no effect, and why", |of| Some(of.note()?.into())),
    ]
}

fn columns() -> Vec<Column> {
    let setting = Column::parameter("setting", ColumnKind::Text, "kind of pages");
    let metrics = metric::columns(&metrics());
    std::iter::once(setting).chain(metrics).collect()
}

/// What a reader has to know before comparing the row.
fn note(one: &Tried) -> Option<String> {
    if let Some(said) = one.runs.iter().find_map(|run| run.fell_back.clone()) {
        return Some(said);
    }
    let pools: Vec<PoolUse> = one.runs.iter().filter_map(|run| run.pool).collect();
    let most = pools.iter().max_by_key(|pool| pool.lent_pages)?;
    if most.lent_pages == 0 {
        let text = "the program took nothing from the pool: it allocates no 4 MiB at once, or is linked statically";
        return Some(text.to_owned());
    }
    Some(format!(
        "the pool lent {} pages; its cleaner took {:.1} ms of CPU time for them, which the program does not wait for",
        most.lent_pages,
        most.cleaner_cpu_ns as f64 / 1e6
    ))
}

/// What a user does, with the number of pages.
fn how(setting: Setting, pages: usize) -> String {
    setting.how().replace(" N", &format!(" {pages}"))
}

fn about(tried: &[Tried], advice: &Advice, walls: &[&[u64]], pages: usize) -> String {
    let runs = walls.first().map_or(0, |runs| runs.len());
    let Some(best) = tried.get(advice.best).filter(|_| advice.best > 0) else {
        return format!(
            "Leave the program as it is: in {runs} runs each, no kind of pages was faster by more than the noise."
        );
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let range = |runs: &[u64]| {
        let least = runs.iter().min().copied().unwrap_or(0);
        let most = runs.iter().max().copied().unwrap_or(0);
        format!("{:.3} to {:.3} s", seconds(least), seconds(most))
    };
    let (base, own) = (walls[0], walls[advice.best]);
    format!(
        "Use {}: {:.3} s instead of {:.3} s, {:.1} % less ({runs} runs each: {} against {}).\nHow: {}",
        best.setting.name(),
        seconds(median(own)),
        seconds(median(base)),
        100.0 * (1.0 - median(own) as f64 / median(base).max(1) as f64),
        range(own),
        range(base),
        how(best.setting, pages),
    )
}

#[cfg(test)]
mod tests;
