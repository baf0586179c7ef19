//! What gives programs their colors: the module, or resctrl.

use std::path::Path;

use pagemill_color::{ColorSpace, ModuleSpace, ResctrlSpace, way_palette};
use pagemill_linux::color_module::WhenEmpty;
use pagemill_linux::resctrl::{CacheInfo, Mounted};

use super::arguments::Backend;
use crate::failure::Failure;

/// A space for a task.
pub fn open(
    backend: Backend,
    resctrl: &Path,
    rule: WhenEmpty,
) -> Result<Box<dyn ColorSpace>, Failure> {
    let module = || ModuleSpace::open(rule).map(|space| Box::new(space) as Box<dyn ColorSpace>);
    let group = || {
        let tree = Box::new(Mounted::at(resctrl));
        ResctrlSpace::new(tree).map(|space| Box::new(space) as Box<dyn ColorSpace>)
    };
    first_of(backend, module, group)
}

/// How many colors there are.
pub fn colors(backend: Backend, resctrl: &Path) -> Result<u16, Failure> {
    let module = || ModuleSpace::open(WhenEmpty::default()).map(|space| space.colors());
    let ways = || {
        let info = CacheInfo::read(&Mounted::at(resctrl))?;
        Ok(way_palette(&info)?.colors())
    };
    first_of(backend, module, ways)
}

fn first_of<T>(
    backend: Backend,
    module: impl FnOnce() -> pagemill_linux::Result<T>,
    resctrl: impl FnOnce() -> pagemill_linux::Result<T>,
) -> Result<T, Failure> {
    let found = match backend {
        Backend::Module => module().map_err(|error| error.to_string()),
        Backend::Resctrl => resctrl().map_err(|error| error.to_string()),
        Backend::Auto => module().or_else(|no_module| {
            resctrl().map_err(|no_resctrl| format!("{no_module}; and {no_resctrl}"))
        }),
    };
    found.map_err(Failure::NoDevice)
}
