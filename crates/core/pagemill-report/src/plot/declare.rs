use crate::Value;

/// A figure to draw from the rows.
///
/// Rows that share all keys of a figure are averaged, and the figure says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Stable name, unique in a result set: `fig4`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What to see in it; may be empty.
    pub caption: String,
    /// Draws one panel for each value of this column, one below the other.
    pub panel_by: Option<String>,
    /// Draws only rows that hold all of these values.
    pub only: Vec<(String, Value)>,
    /// Title of the horizontal axis; empty takes the column's name.
    pub x_title: String,
    /// Title of the vertical axis with its unit; empty takes the column's name and unit.
    pub y_title: String,
    /// Published values to draw beside those of the rows.
    pub published: Vec<Published>,
    /// The kind of figure.
    pub form: PlotForm,
}

/// A published value and its place in a figure of bars or lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The value of the column that makes panels, if there are panels.
    pub panel: Option<Value>,
    /// The value on the horizontal axis; none is the group of means.
    pub x: Option<Value>,
    /// The series.
    pub series: Value,
    /// What was published, in the unit of the vertical axis.
    pub value: f64,
}

/// The kinds of figure.
#[derive(Clone, Debug, PartialEq)]
pub enum PlotForm {
    /// Groups of bars side by side.
    Bars(Bars),
    /// One line per series over a swept number.
    Lines(Lines),
    /// Bars made of parts, for histograms and breakdowns.
    Stacked(StackedBars),
    /// A colored grid over two swept keys.
    HeatMap(HeatMap),
}

/// An extra group behind the others that averages them, as papers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mean {
    /// No such group.
    #[default]
    None,
    /// Sum over count.
    Arithmetic,
    /// Root of the product: the right mean for normalized times. Needs positive values.
    Geometric,
}

impl Mean {
    /// The mean of `values`, if they have one.
    pub(crate) fn of(self, values: &[f64]) -> Option<f64> {
        let count = values.len() as f64;
        match self {
            _ if values.is_empty() => None,
            Self::None => None,
            Self::Arithmetic => Some(values.iter().sum::<f64>() / count),
            Self::Geometric if values.iter().any(|value| *value <= 0.0) => None,
            Self::Geometric => {
                Some((values.iter().map(|value| value.ln()).sum::<f64>() / count).exp())
            }
        }
    }
}

/// Groups of bars side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Column whose values are the groups.
    pub x: String,
    /// Column whose values are the bars of a group.
    pub series: String,
    /// Metric that gives the height.
    pub y: String,
    /// Divides each group by its bar of this series, which is then 1.
    pub normalize_to: Option<Value>,
    /// Puts the heights on a logarithmic axis.
    pub log: bool,
    /// Cuts higher bars here, marks the cut and prints the true value.
    pub y_cap: Option<f64>,
    /// Adds a group of means.
    pub mean: Mean,
}

/// One line per series over a swept number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Column on the horizontal axis. Values that are no numbers are set at equal steps.
    pub x: String,
    /// Column whose values are the lines.
    pub series: String,
    /// Metric that gives the height.
    pub y: String,
    /// Spaces x by its base-2 logarithm.
    pub log2_x: bool,
    /// Puts y on a logarithmic axis.
    pub log_y: bool,
    /// Divides each line by its value at this x, which is then 1.
    pub normalize_to_x: Option<Value>,
}

/// Bars made of parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackedBars {
    /// Column whose values are the bars.
    pub x: String,
    /// Metrics stacked from the bottom, each with its label in the legend.
    pub parts: Vec<(String, String)>,
    /// Draws every bar as shares of its own sum.
    pub as_shares: bool,
}

/// A colored grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Column across.
    pub x: String,
    /// Column down.
    pub y: String,
    /// Metric that gives the color.
    pub value: String,
    /// Spaces colors by the logarithm of the value.
    pub log: bool,
}

impl Plot {
    /// A figure with its heading; axis titles, caption and filters are fields to fill in.
    pub fn new(id: impl Into<String>, title: impl Into<String>, form: PlotForm) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: String::new(),
            panel_by: None,
            only: Vec::new(),
            x_title: String::new(),
            y_title: String::new(),
            published: Vec::new(),
            form,
        }
    }

    /// The columns this figure reads.
    pub fn column_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.form {
            PlotForm::Bars(bars) => vec![&bars.x, &bars.series, &bars.y],
            PlotForm::Lines(lines) => vec![&lines.x, &lines.series, &lines.y],
            PlotForm::Stacked(stacked) => std::iter::once(stacked.x.as_str())
                .chain(stacked.parts.iter().map(|(metric, _)| metric.as_str()))
                .collect(),
            PlotForm::HeatMap(heat) => vec![&heat.x, &heat.y, &heat.value],
        };
        names.extend(self.panel_by.as_deref());
        names.extend(self.only.iter().map(|(name, _)| name.as_str()));
        names
    }
}
