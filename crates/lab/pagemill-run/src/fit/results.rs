//! What a search found, as rows, and as a table of the front for a terminal.

use pagemill_report::{
    Bars, Column, ColumnKind, Fact, Lines, Plot, PlotForm, ResultSet, Row, Summary, Value, human,
};
use pagemill_scenario::Parameter;

use super::{Fit, Found, Judged};
use crate::results::column_kind;

/// Settings that a terminal shows.
const SHOWN_MAX: usize = 8;

impl Fit {
    /// A row for each target of each setting, the scenario as it is first.
    pub fn result_set(&self) -> ResultSet {
        let scenario = self.plan.scenario();
        let front = self.front();
        let mut rows = Vec::new();
        for (number, judged) in self.numbered() {
            let is_best = number
                .checked_sub(1)
                .is_some_and(|place| front.contains(&(place as usize)));
            let row = judged
                .parameters()
                .iter()
                .fold(Row::new().parameter("setting", number), |row, parameter| {
                    row.parameter(&parameter.column, &parameter.value)
                });
            match &judged.found {
                Ok(found) => rows.extend(
                    found
                        .iter()
                        .map(|found| target_row(row.clone(), found, judged, is_best)),
                ),
                Err(reason) => rows.push(
                    row.metric("on_front", false)
                        .metric("refused", reason.as_str()),
                ),
            }
        }
        ResultSet {
            columns: self.columns(),
            rows,
            plots: plots(),
            ..self.frame(scenario.about.trim().to_owned())
        }
    }

    /// The front as a terminal shows it: a line for each key and each target, a column for each setting, the nearest first.
    pub fn table(&self) -> ResultSet {
        let front = self.front();
        let shown: Vec<(String, &Judged)> = (self
            .before
            .iter()
            .map(|before| ("as it is".to_owned(), before)))
        .chain(
            front
                .iter()
                .take(SHOWN_MAX)
                .map(|place| (format!("#{}", place + 1), &self.judged[*place])),
        )
        .collect();
        let line = |name: &str, of: &dyn Fn(&Judged) -> Option<String>| {
            shown.iter().fold(
                Row::new().parameter("setting", name),
                |row, (heading, judged)| match of(judged) {
                    Some(text) => row.metric(heading, text),
                    None => row,
                },
            )
        };
        let mut rows: Vec<Row> = Vec::new();
        for key in self.plan.keys() {
            rows.push(line(key.path, &|judged| {
                let parameters = judged.parameters().iter();
                parameters
                    .filter(|it| it.path == key.path)
                    .map(|it| it.written.clone())
                    .next()
            }));
        }
        for (index, target) in self.plan.targets().iter().enumerate() {
            let mut row = line(&target.id, &|judged| {
                judged.found.as_ref().ok().map(|found| cell(&found[index]))
            });
            row.metrics
                .insert(0, ("published".to_owned(), number(target.published).into()));
            rows.push(row);
        }
        rows.push(line("off by", &|judged| {
            judged
                .off_by()
                .map(|off| human(&off.into(), ColumnKind::Ratio))
        }));
        rows.push(line("claims that hold", &|judged| {
            let found = judged.found.as_ref().ok()?;
            Some(format!("{} of {}", holding(found), found.len()))
        }));
        let text = |name: &str| Column::metric(name, ColumnKind::Text, String::new());
        let mut columns = vec![
            Column::parameter("setting", ColumnKind::Text, String::new()),
            text("published"),
        ];
        columns.extend(shown.iter().map(|(heading, _)| text(heading)));
        let mut set = self.frame(String::new());
        if front.len() > SHOWN_MAX {
            set.summary.warnings.push(format!(
                "the front has {} settings, of which the {SHOWN_MAX} nearest are shown; --format json or --out has all",
                front.len()
            ));
        }
        ResultSet {
            columns,
            rows,
            ..set
        }
    }

    /// The overrides of the setting that is nearest to all targets, if there is one.
    pub fn nearest(&self) -> Option<Vec<String>> {
        let place = *self.front().first()?;
        let setting = self.judged[place].setting.as_ref()?;
        Some(setting.sets.clone())
    }

    /// Why settings were refused, the first of each reason.
    pub fn refusals(&self) -> Vec<(u64, &str)> {
        let mut refusals: Vec<(u64, &str)> = Vec::new();
        for (number, judged) in self.numbered() {
            let Err(reason) = &judged.found else { continue };
            if refusals.iter().all(|(_, known)| known != reason) {
                refusals.push((number, reason));
            }
        }
        refusals
    }

    fn numbered(&self) -> impl Iterator<Item = (u64, &Judged)> {
        let settings = (1..).zip(&self.judged);
        self.before.iter().map(|before| (0, before)).chain(settings)
    }

    fn frame(&self, about: String) -> ResultSet {
        let scenario = self.plan.scenario();
        ResultSet {
            scenario: scenario.name.clone(),
            title: format!(
                "{}: settings nearest to the published values",
                scenario.title
            ),
            about,
            pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.plan.spec().seed,
            summary: self.summary(),
            ..ResultSet::default()
        }
    }

    fn summary(&self) -> Summary {
        let fact = |name: &str, value: Value, kind, doc: &str| Fact {
            name: name.to_owned(),
            value,
            kind,
            doc: doc.to_owned(),
        };
        let refused = self
            .judged
            .iter()
            .filter(|judged| judged.found.is_err())
            .count();
        let count = ColumnKind::Count;
        let mut facts = vec![
            fact(
                "settings",
                self.tried().into(),
                count,
                "settings that were tried beside the scenario as it is",
            ),
            fact(
                "front",
                self.front().len().into(),
                count,
                "settings that no other one beats",
            ),
            fact(
                "refused",
                refused.into(),
                count,
                "settings that could not be run",
            ),
            fact(
                "partial",
                self.is_partial().into(),
                ColumnKind::Text,
                "whether the search was stopped before its end",
            ),
        ];
        facts.retain(|fact| fact.name != "refused" || refused > 0);
        let warnings = self.is_partial().then(|| {
            format!(
                "partial: {} of {} settings were tried",
                self.tried(),
                self.plan.spec().points
            )
        });
        Summary {
            facts,
            warnings: warnings.into_iter().collect(),
            ..Summary::default()
        }
    }

    /// Whether there is more to try.
    pub fn is_partial(&self) -> bool {
        self.before.is_none() || !self.proposals().is_empty()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::parameter(
            "setting",
            ColumnKind::Count,
            "number of the setting; 0 is the scenario as it is",
        )];
        for parameter in self.judged.iter().flat_map(Judged::parameters) {
            if columns.iter().all(|column| column.name != parameter.column) {
                let doc = format!("searched: {}", parameter.path);
                columns.push(Column::parameter(
                    &parameter.column,
                    column_kind(parameter),
                    doc,
                ));
            }
        }
        columns.push(Column::parameter(
            "target",
            ColumnKind::Text,
            "id of the claim whose published value is to be met",
        ));
        let metric =
            |(name, kind, doc): &(&str, ColumnKind, &str)| Column::metric(*name, *kind, *doc);
        columns.extend(METRICS.iter().map(metric));
        columns
    }
}

const METRICS: &[(&str, ColumnKind, &str)] = &[
    ("published", ColumnKind::Number, "the published value"),
    ("measured", ColumnKind::Number, "what the setting gives"),
    (
        "error_rate",
        ColumnKind::Rate,
        "measured over published, less one; empty where nothing above 0 was published",
    ),
    (
        "distance",
        ColumnKind::Number,
        "logarithm of the factor between the two, always positive; the difference where one is not above 0",
    ),
    ("holds", ColumnKind::Text, "whether the claim holds"),
    (
        "off_by",
        ColumnKind::Ratio,
        "the factor by which the setting misses its targets: root of the mean of the squared distances, as a factor",
    ),
    (
        "on_front",
        ColumnKind::Text,
        "whether no other setting is as near to every target and nearer to one",
    ),
    (
        "refused",
        ColumnKind::Text,
        "why the setting could not be run",
    ),
];

fn target_row(row: Row, found: &Found, judged: &Judged, is_best: bool) -> Row {
    let published = found
        .claim
        .published
        .as_ref()
        .and_then(Value::as_f64)
        .unwrap_or(f64::NAN);
    let row = row
        .parameter("target", found.claim.id.as_str())
        .metric("published", published)
        .metric("measured", found.measured)
        .metric("error_rate", error(found).unwrap_or(f64::NAN))
        .metric("distance", found.distance);
    let row = match found.claim.holds {
        Some(holds) => row.metric("holds", holds),
        None => row,
    };
    row.metric("off_by", judged.off_by().unwrap_or(f64::NAN))
        .metric("on_front", is_best)
}

/// Measured over published, less one.
fn error(found: &Found) -> Option<f64> {
    let published = found.claim.published.as_ref().and_then(Value::as_f64)?;
    (published > 0.0).then(|| found.measured / published - 1.0)
}

fn holding(found: &[Found]) -> usize {
    found
        .iter()
        .filter(|found| found.claim.holds == Some(true))
        .count()
}

/// `69.3 (-5 %)`.
fn cell(found: &Found) -> String {
    match error(found) {
        Some(error) => format!("{} ({:+.0} %)", number(found.measured), 100.0 * error),
        None => number(found.measured),
    }
}

fn number(number: f64) -> String {
    human(&Value::Float(number), ColumnKind::Number)
}

fn plots() -> Vec<Plot> {
    let errors = Bars {
        x: "target".to_owned(),
        series: "setting".to_owned(),
        y: "error_rate".to_owned(),
        ..Bars::default()
    };
    let progress = Lines {
        x: "setting".to_owned(),
        series: "on_front".to_owned(),
        y: "off_by".to_owned(),
        log_y: true,
        ..Lines::default()
    };
    let mut front = Plot::new(
        "errors".to_owned(),
        "Error of each target, settings of the front".to_owned(),
        PlotForm::Bars(errors),
    );
    front.only = vec![("on_front".to_owned(), true.into())];
    let off = Plot::new(
        "off-by".to_owned(),
        "Factor by which each setting misses its targets".to_owned(),
        PlotForm::Lines(progress),
    );
    vec![front, off]
}

impl Judged {
    fn parameters(&self) -> &[Parameter] {
        self.setting
            .as_ref()
            .map_or(&[], |setting| &setting.parameters)
    }
}
