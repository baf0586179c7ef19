//! Results as Python sees them.

use std::path::PathBuf;

use pagemill_report::table::TableStyle;
use pagemill_report::{
    self as report, Column, ColumnRole, PageMap, Plot, PlotForm, Row, Value, html, human, json,
    pages, parquet, table,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error;

/// Rows, what their columns mean, and what all of them say.
#[pyclass(frozen, module = "pagemill._native")]
pub struct ResultSet {
    pub set: report::ResultSet,
    /// What fits a terminal or a notebook.
    pub view: report::ResultSet,
}

impl ResultSet {
    pub fn new(set: report::ResultSet) -> Self {
        let view = set.clone();
        Self { set, view }
    }
}

/// The results of the text of a `results.json`.
#[pyfunction]
pub fn results(text: &str) -> PyResult<ResultSet> {
    let set = report::read(text).map_err(|error| error::InputError::new_err(error.to_string()))?;
    Ok(ResultSet::new(set))
}

#[pymethods]
impl ResultSet {
    #[getter]
    fn scenario(&self) -> &str {
        &self.set.scenario
    }

    #[getter]
    fn title(&self) -> &str {
        &self.set.title
    }

    #[getter]
    fn about(&self) -> &str {
        &self.set.about
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.set.seed
    }

    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.set.all_columns();
        PyList::new(
            py,
            columns
                .iter()
                .map(|column| describe(py, column))
                .collect::<PyResult<Vec<_>>>()?,
        )
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.set.all_columns();
        let rows = self.set.rows.iter().map(|row| row_dict(py, row, &columns));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    fn claims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let claims = self.set.summary.claims.iter().map(|claim| {
            let dict = PyDict::new(py);
            dict.set_item("id", &claim.id)?;
            dict.set_item("text", &claim.text)?;
            dict.set_item("published", optional(py, claim.published.as_ref())?)?;
            dict.set_item("measured", optional(py, claim.measured.as_ref())?)?;
            dict.set_item("holds", claim.holds)?;
            dict.set_item("note", &claim.note)?;
            Ok(dict)
        });
        PyList::new(py, claims.collect::<PyResult<Vec<_>>>()?)
    }

    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for fact in &self.set.summary.facts {
            facts.set_item(&fact.name, to_python(py, &fact.value)?)?;
        }
        Ok(facts)
    }

    fn plots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let plots = self.set.plots.iter().map(|plot| plot_dict(py, plot));
        PyList::new(py, plots.collect::<PyResult<Vec<_>>>()?)
    }

    /// Headings and cells as people read them, of the main columns.
    fn shown(&self) -> (Vec<(String, bool)>, Vec<Vec<String>>) {
        let columns = self.view.all_columns();
        let heads = columns.iter().map(|column| {
            (
                report::heading(column),
                column.kind != report::ColumnKind::Text,
            )
        });
        let cell = |row: &Row, column: &Column| {
            row.get(&column.name)
                .map_or_else(String::new, |value| human(value, column.kind))
        };
        let rows = self.view.rows.iter();
        let rows = rows.map(|row| columns.iter().map(|column| cell(row, column)).collect());
        (heads.collect(), rows.collect())
    }

    fn table(&self) -> String {
        let style = TableStyle {
            width: None,
            color: false,
        };
        table::render(&self.view, &style)
    }

    fn json(&self) -> PyResult<String> {
        let mut bytes = Vec::new();
        json::write(&self.set, &mut bytes).map_err(error::run)?;
        String::from_utf8(bytes).map_err(error::run)
    }

    fn html(&self) -> PyResult<String> {
        let mut bytes = Vec::new();
        html::write(&self.set, &mut bytes).map_err(error::run)?;
        String::from_utf8(bytes).map_err(error::run)
    }

    /// The points whose page maps were kept, as the maps are titled.
    fn map_titles(&self) -> Vec<&str> {
        let maps = self.set.maps.iter();
        maps.map(|map| map.title.as_str()).collect()
    }

    /// A page that shows the maps with these titles.
    fn view(&self, titles: Vec<String>) -> PyResult<String> {
        let maps = self.set.maps.iter();
        let meant: Vec<PageMap> = maps
            .filter(|map| titles.contains(&map.title))
            .cloned()
            .collect();
        // The page has no list to choose from where there is one map: its heading says which.
        let title = match &meant[..] {
            [one] => format!("{}: {}", self.set.title, one.title),
            _ => self.set.title.clone(),
        };
        let mut bytes = Vec::new();
        pages::write_view(&title, &meant, &mut bytes).map_err(error::run)?;
        String::from_utf8(bytes).map_err(error::run)
    }

    fn parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        parquet::write(&self.set, &mut bytes).map_err(error::run)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Replaces the directory by results.json, results.csv, results.parquet and report.html.
    fn save(&self, directory: PathBuf) -> PyResult<()> {
        let staged = pagemill_run::stage_results(&directory, &self.set);
        let written = staged.and_then(report::OutputDir::commit);
        written.map_err(error::run)
    }

    /// The rows of several sets as one, with figures of all of them; the description is the first's.
    #[staticmethod]
    fn concatenated(sets: Vec<PyRef<'_, ResultSet>>) -> Self {
        Self {
            set: pagemill_run::merged(sets.iter().map(|one| &one.set)),
            view: pagemill_run::merged(sets.iter().map(|one| &one.view)),
        }
    }
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Unsigned(number) => number.into_pyobject(py)?.into_any(),
        Value::Signed(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
    })
}

fn optional<'py>(py: Python<'py>, value: Option<&Value>) -> PyResult<Bound<'py, PyAny>> {
    match value.filter(|value| !value.is_not_a_number()) {
        Some(value) => to_python(py, value),
        None => Ok(py.None().into_bound(py)),
    }
}

fn row_dict<'py>(py: Python<'py>, row: &Row, columns: &[Column]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in columns {
        dict.set_item(&column.name, optional(py, row.get(&column.name))?)?;
    }
    Ok(dict)
}

fn describe<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let role = match column.role {
        ColumnRole::Parameter => "parameter",
        ColumnRole::Metric => "metric",
    };
    dict.set_item("name", &column.name)?;
    dict.set_item("role", role)?;
    dict.set_item("kind", column.kind.machine_name())?;
    dict.set_item("unit", column.kind.machine_unit())?;
    dict.set_item("doc", &column.doc)?;
    Ok(dict)
}

fn plot_dict<'py>(py: Python<'py>, plot: &Plot) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", &plot.id)?;
    dict.set_item("title", &plot.title)?;
    dict.set_item("caption", &plot.caption)?;
    dict.set_item("panel_by", plot.panel_by.as_deref())?;
    dict.set_item("x_title", &plot.x_title)?;
    dict.set_item("y_title", &plot.y_title)?;
    let only = PyDict::new(py);
    for (name, value) in &plot.only {
        only.set_item(name, to_python(py, value)?)?;
    }
    dict.set_item("only", only)?;
    add_form(py, &dict, &plot.form)?;
    Ok(dict)
}

fn add_form<'py>(py: Python<'py>, dict: &Bound<'py, PyDict>, form: &PlotForm) -> PyResult<()> {
    match form {
        PlotForm::Bars(bars) => {
            dict.set_item("form", "bars")?;
            dict.set_item("x", &bars.x)?;
            dict.set_item("series", &bars.series)?;
            dict.set_item("y", &bars.y)?;
            dict.set_item("normalize_to", optional(py, bars.normalize_to.as_ref())?)?;
            dict.set_item("log", bars.log)?;
        }
        PlotForm::Lines(lines) => {
            dict.set_item("form", "lines")?;
            dict.set_item("x", &lines.x)?;
            dict.set_item("series", &lines.series)?;
            dict.set_item("y", &lines.y)?;
            dict.set_item("log2_x", lines.log2_x)?;
            dict.set_item("log", lines.log_y)?;
            dict.set_item("normalize_to", optional(py, lines.normalize_to_x.as_ref())?)?;
        }
        PlotForm::Stacked(stacked) => {
            dict.set_item("form", "stacked")?;
            dict.set_item("x", &stacked.x)?;
            dict.set_item("parts", stacked.parts.clone())?;
            dict.set_item("as_shares", stacked.as_shares)?;
        }
        PlotForm::HeatMap(heat) => {
            dict.set_item("form", "heat")?;
            dict.set_item("x", &heat.x)?;
            dict.set_item("y", &heat.y)?;
            dict.set_item("value", &heat.value)?;
            dict.set_item("log", heat.log)?;
        }
    }
    Ok(())
}
