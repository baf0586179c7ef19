//! The values of a core, its helper, and the engines that clear pages.

use pagemill_pages::fault_path::{CoreSpec, EngineSpec, FaultPathMachine, HelperSpec};

use super::Machine;
use crate::document::Reader;
use crate::keys::{keys, read_key, section};
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{boolean, cycles, frequency, page_size, time};
use crate::sourced::SourcedSection;

/// The engines that every machine describes.
pub(crate) const ENGINES: &[&str] = &["memset", "streaming", "opencl"];

/// Reads and checks the fault path of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<FaultPathMachine>> {
    let read = keys!(FaultPathMachine {
        core: section(keys!(CoreSpec {
            clock: frequency,
            page: page_size,
            fault_cycles = "fault", clear_cycles = "clear", handoff_cycles = "handoff": cycles,
        })),
        helper: section(keys!(HelperSpec { wake: time, busy: boolean, deadline: time })),
        engines: section(engines),
    } with { name: file.source.stem() });
    let check = FaultPathMachine::check;
    Machine::read(file, kind_names::ZEROING, reader, read, check)
}

fn engines(all: &mut SourcedSection<'_>) -> Option<Vec<EngineSpec>> {
    let engine = |name: &&str| {
        let costs = keys!(EngineSpec {
            launch, page, cpu: time,
        } with { name: (*name).to_owned() });
        read_key(all, name, section(costs))
    };
    let read: Vec<Option<EngineSpec>> = ENGINES.iter().map(engine).collect();
    read.into_iter().collect()
}
