//! Machine files: read once, each laid over the machine that its `base` names, with the values of a point over it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::{Kind, Node, SourceText, Table, parse_document};
use crate::error::Problem;
use crate::files::find_machine;
use crate::overrides::Override;

/// Bases of bases that a machine may have.
const MOST_BASES: usize = 8;

/// A machine file, possibly with values replaced.
#[derive(Clone, Debug)]
pub(crate) struct MachineFile {
    pub source: Arc<SourceText>,
    pub table: Table,
}

impl MachineFile {
    /// The value at a dotted path, without its source.
    pub fn value(&self, path: &[String]) -> Option<&Node> {
        let node = self.table.at(path)?;
        match &node.kind {
            Kind::Table(table) => table.get("value"),
            _ => Some(node),
        }
    }
}

/// The machine files read so far, each once.
pub(crate) struct MachineFiles<'a> {
    folder: Option<PathBuf>,
    given: &'a [(String, Arc<SourceText>)],
    loaded: Vec<(String, Arc<MachineFile>)>,
    /// The texts that these are laid over.
    bases: Vec<(String, Arc<SourceText>)>,
}

impl<'a> MachineFiles<'a> {
    /// The machines that the scenario `source` can name, `given` ones first.
    pub fn near(source: &SourceText, given: &'a [(String, Arc<SourceText>)]) -> Self {
        Self {
            folder: source.folder().map(Path::to_path_buf),
            given,
            loaded: Vec::new(),
            bases: Vec::new(),
        }
    }

    /// The machine that `node` names, with `layers` over it; `None` where it is no name.
    pub fn laid_over(
        &mut self,
        node: &Node,
        layers: Vec<Override>,
    ) -> Result<Option<Arc<MachineFile>>, Problem> {
        let Kind::String(given) = &node.kind else {
            return Ok(None);
        };
        let mut machine = self.get(given, node)?;
        if !layers.is_empty() {
            let replaced = Arc::make_mut(&mut machine);
            for layer in layers {
                replaced
                    .table
                    .put(&layer.path[1..], &layer.key, layer.value)?;
            }
        }
        Ok(Some(machine))
    }

    /// The machine `given`, which `node` names.
    pub fn get(&mut self, given: &str, node: &Node) -> Result<Arc<MachineFile>, Problem> {
        if let Some((_, machine)) = self.loaded.iter().find(|(name, _)| name == given) {
            return Ok(Arc::clone(machine));
        }
        let source = self.find(given, node)?;
        let table = self.over_bases(&source)?;
        let machine = Arc::new(MachineFile { source, table });
        self.loaded.push((given.to_owned(), Arc::clone(&machine)));
        Ok(machine)
    }

    /// The values of `source`, laid over those of the machine that its `base` names.
    fn over_bases(&mut self, source: &Arc<SourceText>) -> Result<Table, Problem> {
        let mut layers = vec![parse_document(source)?];
        while let Some((_, node)) = layers.last_mut().and_then(|layer| layer.remove("base")) {
            let Kind::String(name) = &node.kind else {
                let text = format!("`base` is {node}: it must be the name of a machine");
                return Err(Problem::at(&node.origin, text));
            };
            if layers.len() > MOST_BASES {
                let text = format!(
                    "the bases of this machine lead in a circle, or over {MOST_BASES} files"
                );
                return Err(Problem::at(&node.origin, text));
            }
            let base = self.find(name, &node)?;
            layers.push(parse_document(&base)?);
            self.bases.push((name.clone(), base));
        }
        let mut table = layers.pop().unwrap_or_default();
        while let Some(layer) = layers.pop() {
            table.merge(layer);
        }
        Ok(table)
    }

    fn find(&self, given: &str, node: &Node) -> Result<Arc<SourceText>, Problem> {
        match self.given.iter().find(|(name, _)| name == given) {
            Some((_, source)) => Ok(Arc::clone(source)),
            None => find_machine(given, node, self.folder.as_deref()),
        }
    }

    /// The texts read so far, by the names they were asked for by.
    pub fn sources(&self) -> Vec<(String, Arc<SourceText>)> {
        let source =
            |(name, file): &(String, Arc<MachineFile>)| (name.clone(), Arc::clone(&file.source));
        let bases = self.bases.iter().cloned();
        self.loaded.iter().map(source).chain(bases).collect()
    }
}
