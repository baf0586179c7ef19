use pagemill_report::{Column, ColumnKind, Fact, ResultSet, Row, Value};

use super::costs::Costs;
use super::judge::{Advice, compare, median};
use super::measure::{PoolUse, Run, Tried};
use super::setting::Setting;

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
            .map(|(one, standing)| row(one, standing.name(), base_ns, costs))
            .collect(),
        ..ResultSet::default()
    };
    let best = tried
        .get(advice.best)
        .map_or(Setting::AsIs, |one| one.setting);
    let fact = |name: &str, value: &str, doc: &str| Fact {
        name: name.to_owned(),
        value: Value::Text(value.to_owned()),
        kind: ColumnKind::Text,
        doc: doc.to_owned(),
    };
    set.summary.facts = vec![
        fact("use", best.name(), "the kind of pages to use"),
        fact("how", &how(best, pages), "how to use it"),
    ];
    set
}

fn each(one: &Tried, value: impl Fn(&Run) -> u64) -> Vec<u64> {
    one.runs.iter().map(value).collect()
}

fn columns() -> Vec<Column> {
    let time = |name, doc| Column::metric(name, ColumnKind::TimeNs, doc);
    let count = |name, doc| Column::metric(name, ColumnKind::Count, doc);
    let text = |name, doc| Column::metric(name, ColumnKind::Text, doc);
    vec![
        Column::parameter("setting", ColumnKind::Text, "kind of pages"),
        text(
            "standing",
            "beside the program as it is; a difference counts where no two runs overlap",
        ),
        time("wall_ns", "elapsed time, median"),
        time("wall_least_ns", "elapsed time, fastest run"),
        time("wall_most_ns", "elapsed time, slowest run"),
        Column::metric(
            "wall_ratio",
            ColumnKind::Ratio,
            "elapsed time beside the program as it is",
        ),
        time("user_ns", "CPU time of the program, median"),
        time("kernel_ns", "CPU time of the kernel for it, median"),
        count("faults", "page faults, median"),
        count(
            "huge_faults",
            "faults of the whole machine that got a transparent huge page, least",
        ),
        time(
            "clearing_ns",
            "estimate: kernel time of finding and clearing pages",
        ),
        time(
            "faulting_ns",
            "estimate: kernel time of entering and leaving",
        ),
        time("mapping_ns", "estimate: kernel time of page-table entries"),
        count("pool_pages", "pages that the pool lent, median"),
        count("pool_refusals", "requests that the pool refused, most"),
        time("cleaner_cpu_ns", "CPU time of the pool's cleaner, median"),
        text("note", "what could not be tried, or had no effect, and why"),
    ]
}

fn row(one: &Tried, standing: &str, base_ns: u64, costs: &Costs) -> Row {
    let row = Row::new().parameter("setting", one.setting.name());
    if one.runs.is_empty() {
        let note = one.obstacle.as_deref().unwrap_or("it was not run");
        return row.metric("standing", "not tried").metric("note", note);
    }
    let walls = each(one, |run| run.usage.wall_ns);
    let wall_ns = median(&walls);
    let mut row = row
        .metric(
            "standing",
            if one.setting == Setting::AsIs {
                "-"
            } else {
                standing
            },
        )
        .metric("wall_ns", wall_ns)
        .metric("wall_least_ns", walls.iter().min().copied().unwrap_or(0))
        .metric("wall_most_ns", walls.iter().max().copied().unwrap_or(0))
        .metric("wall_ratio", wall_ns as f64 / base_ns.max(1) as f64)
        .metric("user_ns", median(&each(one, |run| run.usage.user_ns)))
        .metric("kernel_ns", median(&each(one, |run| run.usage.system_ns)))
        .metric("faults", median(&each(one, |run| run.usage.minor_faults)));
    let huge_faults = each(one, |run| run.huge_faults)
        .into_iter()
        .min()
        .unwrap_or(0);
    if !one.setting.takes_stock() {
        row = row.metric("huge_faults", huge_faults);
    }
    // Of the run with the median of kernel time.
    let mut by_kernel: Vec<&Run> = one.runs.iter().collect();
    by_kernel.sort_by_key(|run| run.usage.system_ns);
    let usage = by_kernel[by_kernel.len() / 2].usage;
    if let Some(parts) = costs.split(one.setting, &usage, huge_faults) {
        row = row
            .metric("clearing_ns", parts.clearing_ns.round())
            .metric("faulting_ns", parts.faulting_ns.round())
            .metric("mapping_ns", parts.mapping_ns.round());
    }
    let pools: Vec<_> = one.runs.iter().filter_map(|run| run.pool).collect();
    if !pools.is_empty() {
        let lent: Vec<u64> = pools.iter().map(|pool| pool.lent_pages).collect();
        let cleaner: Vec<u64> = pools.iter().map(|pool| pool.cleaner_cpu_ns).collect();
        row = row
            .metric("pool_pages", median(&lent))
            .metric(
                "pool_refusals",
                pools.iter().map(|pool| pool.refused).max().unwrap_or(0),
            )
            .metric("cleaner_cpu_ns", median(&cleaner));
    }
    match note(one) {
        Some(note) => row.metric("note", note),
        None => row,
    }
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
