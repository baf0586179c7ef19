//! The values of a core, its helper, and the engines that clear pages.

use pagemill_sim::fault_path::{CoreSpec, EngineSpec, FaultPathMachine, HelperSpec};

use super::{Machine, MachineFile, Refused};
use crate::document::Reader;
use crate::kind_names;
use crate::quantity;
use crate::sourced::SourcedSection;

/// The engines that every machine describes.
pub(crate) const ENGINES: &[&str] = &["memset", "streaming", "opencl"];

/// Reads and checks the fault path of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<FaultPathMachine>> {
    Machine::read(file, kind_names::ZEROING, reader, |root| {
        let machine = read_machine(root, file.source.stem())?;
        if let Err(error) = machine.check() {
            let refused = Refused {
                key: error.key,
                value: error.value,
                why: error.allowed.replace("it has to be", "has to be"),
            };
            refused.report(file, reader);
            return None;
        }
        Some(machine)
    })
}

fn read_machine(root: &mut SourcedSection<'_>, name: String) -> Option<FaultPathMachine> {
    // Every section is read before the first `?`, so that all of its problems are reported at once.
    let core = root.section("core").and_then(read_core);
    let helper = root.section("helper").and_then(read_helper);
    let engines = root.section("engines").and_then(read_engines);
    Some(FaultPathMachine {
        name,
        core: core?,
        helper: helper?,
        engines: engines?,
    })
}

fn read_core(mut core: SourcedSection<'_>) -> Option<CoreSpec> {
    let clock = core.value("clock", quantity::frequency);
    let page = core.value("page", quantity::page_size);
    let fault_cycles = core.value("fault", quantity::cycles);
    let clear_cycles = core.value("clear", quantity::cycles);
    let handoff_cycles = core.value("handoff", quantity::cycles);
    Some(CoreSpec {
        clock: clock?,
        page: page?,
        fault_cycles: fault_cycles?,
        clear_cycles: clear_cycles?,
        handoff_cycles: handoff_cycles?,
    })
}

fn read_helper(mut helper: SourcedSection<'_>) -> Option<HelperSpec> {
    let wake = helper.value("wake", quantity::time);
    let busy = helper.value("busy", quantity::boolean);
    let deadline = helper.value("deadline", quantity::time);
    Some(HelperSpec {
        wake: wake?,
        busy: busy?,
        deadline: deadline?,
    })
}

fn read_engines(mut engines: SourcedSection<'_>) -> Option<Vec<EngineSpec>> {
    let read: Vec<_> = ENGINES
        .iter()
        .map(|name| {
            let section = engines.section(name);
            section.and_then(|section| read_engine(name, section))
        })
        .collect();
    read.into_iter().collect()
}

fn read_engine(name: &str, mut engine: SourcedSection<'_>) -> Option<EngineSpec> {
    let launch = engine.value("launch", quantity::time);
    let page = engine.value("page", quantity::time);
    let cpu = engine.value("cpu", quantity::time);
    Some(EngineSpec {
        name: name.to_owned(),
        launch: launch?,
        page: page?,
        cpu: cpu?,
    })
}
