//! `--set key=value`: what the command line says about a scenario.

use crate::document::{Node, Origin, SourceText, parse_argument};
use crate::error::Problem;

/// One `--set` argument: a value for a dotted path.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub path: Vec<String>,
    pub key: Origin,
    pub value: Node,
}

impl Override {
    /// Reads `key=value`. The value is TOML where it can be (`4`, `true`, `["a", "b"]`), else a string (`16 GB/s`).
    pub fn parse(argument: &str) -> Result<Self, Problem> {
        let source = SourceText::argument(argument);
        let whole = Origin::new(&source, 0..argument.len());
        let Some(equals) = argument.find('=') else {
            let problem = Problem::at(&whole, format!("--set {argument:?} has no `=`"));
            return Err(problem
                .help("write --set key=value, as in --set transfer.mode=whole-page".to_owned()));
        };
        let key = Origin::new(&source, 0..equals);
        let path =
            parse_path(&argument[..equals]).ok_or_else(|| bad_path(&key, &argument[..equals]))?;
        if path[0] == "sweep" {
            let problem = Problem::at(&key, "`sweep` cannot be set as a whole".to_owned());
            return Err(problem.help(
                "set the swept key itself, to one value or to a list: --set 'transfer.mode=[\"whole-page\", \"multi-range\"]'"
                    .to_owned(),
            ));
        }
        Ok(Self {
            path,
            key,
            value: parse_argument(&source, equals + 1),
        })
    }
}

/// The parts of a dotted path such as `machine.link.bandwidth`.
pub(crate) fn parse_path(text: &str) -> Option<Vec<String>> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts: Vec<String> = text.split('.').map(|part| part.trim().to_owned()).collect();
    parts
        .iter()
        .all(|part| !part.is_empty() && part.chars().all(is_bare))
        .then_some(parts)
}

/// The problem of a key that is no dotted path.
pub(crate) fn bad_path(origin: &Origin, text: &str) -> Problem {
    Problem::at(origin, format!("`{}` is no key", text.trim()))
        .help("a key is names joined by dots, such as machine.link.bandwidth".to_owned())
}
