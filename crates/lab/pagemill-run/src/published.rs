//! Published values in figures: where a claim is about what one bar or point shows.

use pagemill_report::{Bars, ClaimSpec, Lines, Mean, Plot, PlotForm, Published, Reduce, Value};

/// Puts the published value of each claim into the figures that show what it measures.
pub(crate) fn add(plots: &mut [Plot], claims: &[ClaimSpec]) {
    for plot in plots {
        plot.published = claims
            .iter()
            .filter_map(|claim| place(plot, claim))
            .collect();
    }
}

fn place(plot: &Plot, claim: &ClaimSpec) -> Option<Published> {
    let value = claim.published.filter(|_| claim.measure.per.is_none())?;
    match &plot.form {
        PlotForm::Bars(bars) if bars.y == claim.measure.metric => in_bars(plot, bars, claim, value),
        PlotForm::Lines(lines) if lines.y == claim.measure.metric => {
            in_lines(plot, lines, claim, value)
        }
        _ => None,
    }
}

fn in_bars(plot: &Plot, bars: &Bars, claim: &ClaimSpec, value: f64) -> Option<Published> {
    let measure = &claim.measure;
    let mut keys = Keys::of(&measure.of, plot)?;
    let series = keys.take(&bars.series)?;
    let x = match (measure.across == bars.x, measure.members.as_slice()) {
        (true, [member]) => Some(member.clone()),
        (true, []) if averages_alike(bars.mean, measure.reduce) => None,
        (true, _) => return None,
        (false, _) => Some(keys.take(&bars.x)?),
    };
    let base = bars.normalize_to.as_ref();
    (keys.are_used() && divides_by(claim, &bars.series, base)).then_some(Published {
        panel: keys.panel,
        x,
        series,
        value,
    })
}

fn in_lines(plot: &Plot, lines: &Lines, claim: &ClaimSpec, value: f64) -> Option<Published> {
    let measure = &claim.measure;
    let mut keys = Keys::of(&measure.of, plot)?;
    let mut key = |column: &str| match measure.members.as_slice() {
        [member] if measure.across == column => Some(member.clone()),
        _ => keys.take(column),
    };
    let (x, series) = (key(&lines.x)?, key(&lines.series)?);
    let base = lines.normalize_to_x.as_ref();
    (keys.are_used() && divides_by(claim, &lines.x, base)).then_some(Published {
        panel: keys.panel,
        x: Some(x),
        series,
        value,
    })
}

/// What a claim fixes, less what the figure fixes for all it shows.
struct Keys<'a> {
    panel: Option<Value>,
    left: Vec<&'a (String, Value)>,
}

impl<'a> Keys<'a> {
    /// None where the claim is not about rows of this figure, or not about one panel.
    fn of(selection: &'a [(String, Value)], plot: &Plot) -> Option<Self> {
        let left = selection.iter().filter(|key| !plot.only.contains(key));
        let mut keys = Self {
            panel: None,
            left: left.collect(),
        };
        let is_within = plot.only.iter().all(|key| selection.contains(key));
        match &plot.panel_by {
            _ if !is_within => None,
            None => Some(keys),
            Some(column) => {
                keys.panel = Some(keys.take(column)?);
                Some(keys)
            }
        }
    }

    fn take(&mut self, column: &str) -> Option<Value> {
        let index = self.left.iter().position(|(name, _)| name == column)?;
        Some(self.left.swap_remove(index).1.clone())
    }

    fn are_used(&self) -> bool {
        self.left.is_empty()
    }
}

/// Whether the claim is a ratio exactly where the figure is one, over the same rows.
fn divides_by(claim: &ClaimSpec, column: &str, base: Option<&Value>) -> bool {
    let measure = &claim.measure;
    match (&measure.to, base) {
        (None, None) => true,
        (Some(to), Some(base)) => {
            let of = |own: &[(String, Value)]| {
                let others = own.iter().filter(|(name, _)| name != column);
                others.cloned().collect::<Vec<_>>()
            };
            to.contains(&(column.to_owned(), base.clone())) && of(to) == of(&measure.of)
        }
        _ => false,
    }
}

fn averages_alike(mean: Mean, reduce: Reduce) -> bool {
    matches!(
        (mean, reduce),
        (Mean::Arithmetic, Reduce::Arithmetic) | (Mean::Geometric, Reduce::Geometric)
    )
}

#[cfg(test)]
mod tests;
