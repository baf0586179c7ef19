//! The points of a scenario: the product of the swept keys, the last one fastest.

use crate::document::{Kind, Node, Origin, Table};
use crate::dotted_keys::dotted_keys;
use crate::error::Problem;
use crate::overrides::Override;

/// More points than this are taken for a mistake.
const POINTS_MAX: usize = 10_000;

/// One swept key and its values.
#[derive(Clone, Debug)]
struct Axis {
    path: Vec<String>,
    key: Origin,
    values: Vec<Node>,
}

/// Everything that is laid over the scenario before a point is read.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    axes: Vec<Axis>,
    fixed: Vec<Override>,
}

impl Sweep {
    /// The sweep of a `[sweep]` table, whose keys are dotted paths, quoted or not.
    pub fn of_table(table: &Table, problems: &mut Vec<Problem>) -> Self {
        let mut sweep = Self::default();
        for key in dotted_keys(table) {
            match key {
                Ok((path, origin, node)) => match &node.kind {
                    Kind::Array(values) if !values.is_empty() => {
                        let (key, values) = (origin.clone(), values.clone());
                        sweep.axes.push(Axis { path, key, values });
                    }
                    _ => problems.push(not_a_list(&path, node)),
                },
                Err(problem) => problems.push(problem),
            }
        }
        sweep
    }

    /// Lays an override over everything said before about the same key.
    pub fn set(&mut self, new: Override) -> Result<(), Problem> {
        self.fixed.retain(|fixed| !replaces(&new, &fixed.path));
        let place = self.axes.iter().position(|axis| axis.path == new.path);
        let Kind::Array(values) = new.value.kind else {
            self.axes.retain(|axis| !replaces(&new, &axis.path));
            self.fixed.push(new);
            return Ok(());
        };
        if values.is_empty() {
            let empty = Node {
                origin: new.value.origin,
                kind: Kind::Array(values),
            };
            return Err(not_a_list(&new.path, &empty));
        }
        let axis = Axis {
            path: new.path,
            key: new.key,
            values,
        };
        match place {
            Some(place) => self.axes[place] = axis,
            None => self.axes.push(axis),
        }
        Ok(())
    }

    /// How many points there are.
    pub fn points(&self) -> Result<usize, Problem> {
        let count = self
            .axes
            .iter()
            .try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
        match count {
            Some(count) if count <= POINTS_MAX => Ok(count),
            _ => {
                let sizes: Vec<String> = self
                    .axes
                    .iter()
                    .map(|axis| axis.values.len().to_string())
                    .collect();
                let key = &self.axes[self.axes.len() - 1].key;
                Err(Problem::at(
                    key,
                    format!(
                        "the sweep has {} points, at most {POINTS_MAX} are allowed",
                        sizes.join(" x ")
                    ),
                )
                .help("take values away, or split the scenario".to_owned()))
            }
        }
    }

    /// What point `index` puts over the scenario, in this order.
    pub fn layers(&self, index: usize) -> Vec<Override> {
        let mut rest = index;
        let mut layers: Vec<Override> = Vec::with_capacity(self.axes.len() + self.fixed.len());
        for axis in self.axes.iter().rev() {
            let value = axis.values[rest % axis.values.len()].clone();
            rest /= axis.values.len();
            layers.push(Override {
                path: axis.path.clone(),
                key: axis.key.clone(),
                value,
            });
        }
        layers.reverse();
        layers.extend(self.fixed.iter().cloned());
        layers
    }

    /// The swept keys, one by one also where tables are swept, in the order of the sweep.
    pub fn swept_paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        for axis in &self.axes {
            for value in &axis.values {
                add_leaves(&mut paths, &axis.path, value);
            }
        }
        paths
    }
}

fn add_leaves(paths: &mut Vec<Vec<String>>, path: &[String], node: &Node) {
    if let Kind::Table(table) = &node.kind {
        for (key, node) in table.entries() {
            add_leaves(
                paths,
                &[path, std::slice::from_ref(&key.name)].concat(),
                node,
            );
        }
    } else if !paths.iter().any(|known| known == path) {
        paths.push(path.to_vec());
    }
}

/// Whether `new` takes the place of what was said about `path`. Another machine by name leaves what is said of its values.
fn replaces(new: &Override, path: &[String]) -> bool {
    let names_machine = new.path == ["machine"] && matches!(new.value.kind, Kind::String(_));
    match names_machine {
        true => path == new.path,
        false => path.starts_with(&new.path),
    }
}

fn not_a_list(path: &[String], node: &Node) -> Problem {
    let path = path.join(".");
    let help = match &node.kind {
        Kind::Array(_) => format!("write at least one value, or take `{path}` out of the sweep"),
        _ => format!("write `\"{path}\" = [{node}]`"),
    };
    Problem::at(
        &node.origin,
        format!("the swept key `{path}` is {node}: a list of values is needed"),
    )
    .help(help)
}

#[cfg(test)]
mod tests;
