//! Machines that are another machine with some values replaced: `base = "gtx480"`.

use std::sync::Arc;

use crate::document::{Kind, Node, SourceText, Table, parse_document};
use crate::error::Problem;

/// Bases of bases that a machine may have.
const MOST_BASES: usize = 8;

/// Looks a machine up by its name.
type Find<'a> = dyn FnMut(&str, &Node) -> Result<Arc<SourceText>, Problem> + 'a;

/// The values of the machine file `source`, laid over those of the machine that its `base` names.
///
/// # Errors
/// A syntax error, a base that is no name or is not there, or bases that lead in a circle.
pub(crate) fn table_over_base(
    source: &Arc<SourceText>,
    find: &mut Find<'_>,
) -> Result<Table, Problem> {
    let mut layers = vec![parse_document(source)?];
    while let Some((_, node)) = layers.last_mut().and_then(|layer| layer.remove("base")) {
        let Kind::String(name) = &node.kind else {
            let text = format!("`base` is {node}: it must be the name of a machine");
            return Err(Problem::at(&node.origin, text));
        };
        if layers.len() > MOST_BASES {
            let text =
                format!("the bases of this machine lead in a circle, or over {MOST_BASES} files");
            return Err(Problem::at(&node.origin, text));
        }
        layers.push(parse_document(&find(name, &node)?)?);
    }
    let mut table = layers.pop().unwrap_or_default();
    while let Some(layer) = layers.pop() {
        table.merge(layer);
    }
    Ok(table)
}
