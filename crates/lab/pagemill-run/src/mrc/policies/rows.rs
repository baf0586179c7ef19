use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, Fact, Lines, Plot, PlotForm,
    ResultSet, Row,
};

use super::{PolicyMrcSpec, Task, Watch};

/// The results of all tasks.
pub fn result_set(spec: &PolicyMrcSpec, tasks: &[Option<Task>]) -> ResultSet {
    let mut set = ResultSet {
        scenario: "mrc".to_owned(),
        title: spec.title.clone(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        columns: columns(spec),
        plots: vec![plot(spec)],
        description: vec![description(spec)],
        ..ResultSet::default()
    };
    for (number, task) in tasks.iter().enumerate() {
        if let Some(task) = task {
            add_task(&mut set, spec, number, task);
        }
    }
    set
}

/// How a capacity is called.
fn capacity(spec: &PolicyMrcSpec) -> &'static str {
    if spec.ignore_sizes {
        "cache_objects"
    } else {
        "cache_bytes"
    }
}

/// Whether bytes tell more than requests.
fn has_sizes(spec: &PolicyMrcSpec) -> bool {
    spec.are_objects && !spec.ignore_sizes
}

fn is_sample(spec: &PolicyMrcSpec) -> bool {
    spec.watch != Watch::All
}

fn add_task(set: &mut ResultSet, spec: &PolicyMrcSpec, number: usize, task: &Task) {
    let count = task.capacities.len();
    for (place, entry) in spec.policies.iter().enumerate() {
        let found = task.sampled.estimates(place, count);
        let errors = task.sampled.standard_errors(place, count);
        // Without a sample, what was found is exact.
        let exact = match &task.exact {
            Some(exact) => exact.estimates(place, count).miss_ratios,
            None => found.miss_ratios.clone(),
        };
        for (size, bytes) in task.capacities.iter().enumerate() {
            let mut row = Row::new()
                .parameter("task", number)
                .parameter("policy", entry.name)
                .parameter(capacity(spec), *bytes)
                .metric("references", task.sampled.references())
                .metric("misses", found.misses[size].objects)
                .metric("miss_ratio", found.miss_ratios[size]);
            if has_sizes(spec) {
                row = row.metric("byte_miss_ratio", found.byte_miss_ratios[size]);
            }
            if is_sample(spec) {
                let error = errors.as_ref().map_or(0.0, |errors| errors[size]);
                row = row.metric("miss_ratio_standard_error", error);
            }
            if is_sample(spec) && spec.exact {
                row = row.metric("exact_miss_ratio", exact[size]);
            }
            set.rows.push(row);
        }
    }
    add_facts(set, spec, number, task);
}

fn add_facts(set: &mut ResultSet, spec: &PolicyMrcSpec, number: usize, task: &Task) {
    let mut add = |name: &str, value: pagemill_report::Value, kind, doc: &str| {
        set.summary.facts.push(Fact {
            name: format!("task_{number}_{name}"),
            value,
            kind,
            doc: doc.to_owned(),
        });
    };
    add(
        "objects",
        task.sampled.objects().into(),
        ColumnKind::Count,
        "objects or lines that were watched",
    );
    if is_sample(spec) {
        add(
            "sample_rate",
            task.sampled.rate().into(),
            ColumnKind::Rate,
            "the share of all objects that was watched",
        );
    }
}

fn columns(spec: &PolicyMrcSpec) -> Vec<Column> {
    use ColumnKind::{Bytes, Count, Rate, Text};
    let kind = if spec.ignore_sizes { Count } else { Bytes };
    let mut columns = vec![
        Column::parameter("task", Count, "number of the task in the trace"),
        Column::parameter("policy", Text, "the replacement policy"),
        Column::parameter(capacity(spec), kind, "capacity of the cache"),
        Column::metric("references", Count, "requests of objects, or of lines"),
        Column::metric(
            "misses",
            Count,
            "of these; of a sample, of those to watched objects",
        ),
        Column::metric(
            "miss_ratio",
            Rate,
            "misses / references; of a sample, by estimate",
        ),
    ];
    if has_sizes(spec) {
        columns.push(Column::metric(
            "byte_miss_ratio",
            Rate,
            "bytes of the misses / bytes of all requests",
        ));
    }
    if is_sample(spec) {
        columns.push(Column::metric(
            "miss_ratio_standard_error",
            Rate,
            "how far miss_ratio may be from that of all objects, from the spread between eighths of the sample",
        ));
    }
    if is_sample(spec) && spec.exact {
        columns.push(Column::metric(
            "exact_miss_ratio",
            Rate,
            "the same of all objects",
        ));
    }
    columns
}

fn plot(spec: &PolicyMrcSpec) -> Plot {
    let form = Lines {
        x: capacity(spec).to_owned(),
        series: "policy".to_owned(),
        y: "miss_ratio".to_owned(),
        ..Lines::default()
    };
    Plot::new("mrc", "Miss ratio", PlotForm::Lines(form))
}

fn description(spec: &PolicyMrcSpec) -> DescriptionSection {
    let entry = |name: &str, value: String| DescriptionEntry {
        name: name.to_owned(),
        value,
        source: "the command line".to_owned(),
    };
    DescriptionSection {
        title: "The caches".to_owned(),
        entries: vec![
            entry("line_bytes", spec.line_bytes.to_string()),
            entry("ways", spec.ways.to_string()),
            entry("ignore_sizes", spec.ignore_sizes.to_string()),
            entry("watched", format!("{:?}", spec.watch)),
        ],
    }
}
