//! `[[claims]]` and `[[plots]]`: what a scenario says its rows should show, and how to draw them.
//!
//! Both name columns of the rows. A swept key is named by its path, and its values are written as in the sweep.

use pagemill_report::{
    Bars, ClaimSpec, Expectation, HeatMap, Lines, Mean, Measure, Plot, PlotForm, Reduce, Selection,
    StackedBars, Value,
};

use crate::document::{Key, Kind, Node, Reader, Section, Table};
use crate::error::Problem;
use crate::point::{Parameter, ParameterValue, Point, value_of};
use crate::quantity::{self, Wrong};

const AT_ANY: &str = "claims_at_any";

/// The tables `[[claims]]` and `[[plots]]` of a scenario, taken out of it before its points are read.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    claims: Option<Node>,
    /// Keys whose values the claims do not depend on, so that an override of them leaves them judged.
    at_any: Option<Node>,
    plots: Option<Node>,
}

impl Statements {
    /// Takes them out of `table`.
    pub fn take(table: &mut Table) -> Self {
        let mut take = |key| table.remove(key).map(|(_, node)| node);
        Self {
            claims: take("claims"),
            at_any: take(AT_ANY),
            plots: take("plots"),
        }
    }

    /// Reads the claims; what is wrong with them is noted in `reader`.
    pub fn claims(&self, reader: &Reader, columns: &Columns<'_>) -> Vec<ClaimSpec> {
        each("claims", self.claims.as_ref(), reader, |section| {
            claim(section, columns)
        })
    }

    /// The keys that may have any value.
    pub fn at_any(&self, reader: &Reader) -> Vec<String> {
        let Some(node) = &self.at_any else {
            return Vec::new();
        };
        let items = match &node.kind {
            Kind::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let key = |item: &Node| match &item.kind {
            Kind::String(key) => Some(key.clone()),
            _ => {
                let message = format!("`{AT_ANY}` has {item}: a key in quotes is needed");
                let problem = Problem::at(&item.origin, message);
                reader.report(problem.help(format!("write {AT_ANY} = [\"residency.ballast\"]")));
                None
            }
        };
        items.iter().filter_map(key).collect()
    }

    /// Reads the plots; what is wrong with them is noted in `reader`.
    pub fn plots(&self, reader: &Reader, columns: &Columns<'_>) -> Vec<Plot> {
        each("plots", self.plots.as_ref(), reader, |section| {
            plot(section, columns)
        })
    }
}

/// The names that rows have for swept keys.
pub(crate) struct Columns<'a> {
    parameters: Vec<&'a Parameter>,
    /// Keys that rows hold under a shorter name, swept or not.
    short_names: &'static [(&'static str, &'static str)],
}

impl<'a> Columns<'a> {
    /// The columns of the rows of `points`.
    pub fn of(points: &'a [Point]) -> Self {
        let mut parameters: Vec<&Parameter> = Vec::new();
        for parameter in points.iter().flat_map(|point| &point.parameters) {
            if parameters.iter().all(|known| known.path != parameter.path) {
                parameters.push(parameter);
            }
        }
        let short_names = points
            .first()
            .map_or(&[][..], |point| point.spec.short_names());
        Self {
            parameters,
            short_names,
        }
    }

    /// The swept columns of each point, with their values.
    pub fn planned(&self, points: &[Point]) -> Vec<Selection> {
        let pair = |parameter: &Parameter| {
            let value = match &parameter.value {
                // Rows have a machine's name, also where a scenario has its file's.
                ParameterValue::Text(text) if parameter.path == "machine" => {
                    let name = text.rsplit('/').next().unwrap_or_default();
                    name.strip_suffix(".toml").unwrap_or(name).into()
                }
                value => value.into(),
            };
            (self.name(&parameter.path), value)
        };
        let points = points.iter();
        points
            .map(|point| point.parameters.iter().map(pair).collect())
            .collect()
    }

    /// The column of a swept key; any other name stays as it is.
    fn name(&self, key: &str) -> String {
        let short = self
            .short_names
            .iter()
            .find(|(path, _)| *path == key)
            .map(|(_, short)| (*short).to_owned());
        let swept = || {
            self.parameters
                .iter()
                .find(|parameter| parameter.path == key)
        };
        short
            .or_else(|| swept().map(|parameter| parameter.column.clone()))
            .unwrap_or_else(|| key.to_owned())
    }

    /// The value `node` as the column of `key` holds it.
    fn value(&self, key: &str, node: &Node) -> Value {
        let has_unit = self
            .parameters
            .iter()
            .any(|parameter| parameter.path == key && parameter.column != key);
        (&value_of(node, has_unit)).into()
    }

    fn selection(&self, node: &Node) -> Result<Selection, Wrong> {
        let Kind::Table(table) = &node.kind else {
            return Err(Wrong::new("a table of columns and values is needed")
                .help("write { mode = \"whole-page\" }".to_owned()));
        };
        Ok(table
            .entries()
            .iter()
            .map(|(key, value)| (self.name(&key.name), self.value(&key.name, value)))
            .collect())
    }
}

fn each<T>(
    name: &str,
    node: Option<&Node>,
    reader: &Reader,
    read: impl Fn(&mut Section<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(node) = node else { return Vec::new() };
    let Kind::Array(items) = &node.kind else {
        let problem = Problem::at(
            &node.origin,
            format!("`{name}` is {node}: a list of tables is needed"),
        );
        reader.report(problem.help(format!("write [[{name}]] before each of them")));
        return Vec::new();
    };
    let of_item = |(index, item): (usize, &Node)| match &item.kind {
        Kind::Table(table) => {
            read(&mut reader.root(table, &format!("{name}[{index}]"), item.origin.clone()))
        }
        _ => {
            reader.report(Problem::at(
                &item.origin,
                format!("`{name}[{index}]` is {item}: a table is needed"),
            ));
            None
        }
    };
    items.iter().enumerate().filter_map(of_item).collect()
}

fn claim(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<ClaimSpec> {
    let id = section.required("id", quantity::text);
    let text = section.required("text", quantity::text);
    let published = section.optional("published", number);
    let note = section.or("note", String::new(), quantity::text);
    let expect = expectation(section, columns);
    let measure = measure(section, columns);
    Some(ClaimSpec {
        id: id?,
        text: text?,
        published: published?,
        note: note?,
        measure: measure?,
        expect: expect?,
    })
}

fn measure(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<Measure> {
    let metric = section.required("metric", quantity::text);
    let per = section.optional("per", quantity::text);
    let always = section.or("where", Selection::new(), |node| columns.selection(node));
    let of = section.or("of", Selection::new(), |node| columns.selection(node));
    let to = section.optional("to", |node| columns.selection(node));
    let normalize_to = section.optional("normalize_to", |node| columns.selection(node));
    let across_key = section.or("across", "workload".to_owned(), quantity::text);
    let members = section.or("members", Vec::new(), |node| {
        values(columns, across_key.as_deref(), node)
    });
    let reduce = section.or("mean", Reduce::Arithmetic, reduction);
    let always = always?;
    let both = |selection: Selection| [selection, always.clone()].concat();
    Some(Measure {
        metric: metric?,
        per: per?,
        of: both(of?),
        to: to?.map(both),
        normalize_to: normalize_to?.map(both),
        across: columns.name(&across_key?),
        members: members?,
        reduce: reduce?,
    })
}

fn expectation(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<Expectation> {
    let across = section
        .table()
        .get("across")
        .map_or_else(|| "workload".to_owned(), crate::sourced::as_written);
    let at_least = section.optional("at_least", number)?;
    let at_most = section.optional("at_most", number)?;
    let highest = section.optional("highest", |node| values(columns, Some(&across), node))?;
    let lowest = section.optional("lowest", |node| values(columns, Some(&across), node))?;
    let bounded = at_least.is_some() || at_most.is_some();
    match (bounded, highest, lowest) {
        (true, None, None) => Some(Expectation::Between { at_least, at_most }),
        (false, Some(members), None) => Some(Expectation::Highest(members)),
        (false, None, Some(members)) => Some(Expectation::Lowest(members)),
        _ => {
            let message = "a claim needs either bounds, or `highest`, or `lowest`";
            let help =
                "write at_least and at_most, or highest = [...], or lowest = [...]".to_owned();
            section.report(Problem::at(section.origin(), message.to_owned()).help(help));
            None
        }
    }
}

fn values(columns: &Columns<'_>, key: Option<&str>, node: &Node) -> Result<Vec<Value>, Wrong> {
    let Kind::Array(items) = &node.kind else {
        return Err(Wrong::new("a list of values is needed"));
    };
    Ok(items
        .iter()
        .map(|item| columns.value(key.unwrap_or_default(), item))
        .collect())
}

fn number(node: &Node) -> Result<f64, Wrong> {
    match node.kind {
        Kind::Float(number) if number.is_finite() => Ok(number),
        Kind::Integer(number) => Ok(number as f64),
        _ => Err(Wrong::new("a number is needed")),
    }
}

fn reduction(node: &Node) -> Result<Reduce, Wrong> {
    let name = quantity::choice("means", &Reduce::NAMES)(node)?;
    Reduce::of_name(&name).ok_or_else(|| Wrong::new("this is none of the means"))
}

const FORMS: [&str; 4] = ["bars", "lines", "stacked", "heat-map"];

fn plot(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<Plot> {
    let id = section.required("id", quantity::text);
    let title = section.required("title", quantity::text);
    let form = section.required("form", quantity::choice("forms of plot", &FORMS));
    let caption = section.or("caption", String::new(), quantity::text);
    let x_title = section.or("x_title", String::new(), quantity::text);
    let y_title = section.or("y_title", String::new(), quantity::text);
    let panel_by = section.optional("panel_by", |node| column(columns, node));
    let only = section.or("only", Selection::new(), |node| columns.selection(node));
    let Some(form) = form else {
        // What else it may say depends on its form.
        for (key, _) in section.table().entries() {
            section.or(&key.name, (), |_| Ok(()));
        }
        return None;
    };
    let form = plot_form(&form, section, columns);
    Some(Plot {
        caption: caption?,
        panel_by: panel_by?,
        only: only?,
        x_title: x_title?,
        y_title: y_title?,
        ..Plot::new(id?, title?, form?)
    })
}

fn plot_form(form: &str, section: &mut Section<'_>, columns: &Columns<'_>) -> Option<PlotForm> {
    match form {
        "bars" => bars(section, columns).map(PlotForm::Bars),
        "lines" => lines(section, columns).map(PlotForm::Lines),
        "stacked" => stacked(section, columns).map(PlotForm::Stacked),
        _ => heat_map(section, columns).map(PlotForm::HeatMap),
    }
}

fn column(columns: &Columns<'_>, node: &Node) -> Result<String, Wrong> {
    quantity::text(node).map(|key| columns.name(&key))
}

fn bars(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<Bars> {
    let series_key = section
        .table()
        .get("series")
        .map(crate::sourced::as_written)
        .unwrap_or_default();
    let x = section.or("x", "workload".to_owned(), |node| column(columns, node));
    let series = section.or("series", "mode".to_owned(), |node| column(columns, node));
    let y = section.required("y", quantity::text);
    let normalize_to =
        section.optional("normalize_to", |node| Ok(columns.value(&series_key, node)));
    let log = section.or("log", false, quantity::boolean);
    let y_cap = section.optional("y_cap", number);
    let mean = section.or("mean", Mean::None, mean);
    Some(Bars {
        x: x?,
        series: series?,
        y: y?,
        normalize_to: normalize_to?,
        log: log?,
        y_cap: y_cap?,
        mean: mean?,
    })
}

fn mean(node: &Node) -> Result<Mean, Wrong> {
    let name = quantity::choice("means", &["arithmetic", "geometric"])(node)?;
    Ok(if name == "geometric" {
        Mean::Geometric
    } else {
        Mean::Arithmetic
    })
}

fn lines(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<Lines> {
    let x_key = section
        .table()
        .get("x")
        .map(crate::sourced::as_written)
        .unwrap_or_default();
    let x = section.required("x", |node| column(columns, node));
    let series = section.or("series", "workload".to_owned(), |node| {
        column(columns, node)
    });
    let y = section.required("y", quantity::text);
    let log2_x = section.or("log2_x", false, quantity::boolean);
    let log_y = section.or("log_y", false, quantity::boolean);
    let normalize_to_x = section.optional("normalize_to_x", |node| Ok(columns.value(&x_key, node)));
    Some(Lines {
        x: x?,
        series: series?,
        y: y?,
        log2_x: log2_x?,
        log_y: log_y?,
        normalize_to_x: normalize_to_x?,
    })
}

fn stacked(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<StackedBars> {
    let x = section.or("x", "workload".to_owned(), |node| column(columns, node));
    let parts = section.required("parts", parts);
    let as_shares = section.or("as_shares", false, quantity::boolean);
    Some(StackedBars {
        x: x?,
        parts: parts?,
        as_shares: as_shares?,
    })
}

/// `{ metric = "label", ... }`, stacked from the bottom in this order.
fn parts(node: &Node) -> Result<Vec<(String, String)>, Wrong> {
    let Kind::Table(table) = &node.kind else {
        return Err(Wrong::new("a table of metrics and their labels is needed"));
    };
    let part = |(key, label): &(Key, Node)| Ok((key.name.clone(), quantity::text(label)?));
    table.entries().iter().map(part).collect()
}

fn heat_map(section: &mut Section<'_>, columns: &Columns<'_>) -> Option<HeatMap> {
    let x = section.required("x", |node| column(columns, node));
    let y = section.required("y", |node| column(columns, node));
    let value = section.required("value", quantity::text);
    let log = section.or("log", false, quantity::boolean);
    Some(HeatMap {
        x: x?,
        y: y?,
        value: value?,
        log: log?,
    })
}
