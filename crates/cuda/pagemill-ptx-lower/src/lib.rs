//! From syntax tree to executable kernel: expand, decode, analyze, allocate, emit.
//!
//! It knows only the language ([`pagemill_ptx_ir`]), not what executes it.

#![forbid(unsafe_code)]

mod built_in;
mod decode;
mod emit;
mod expand;
mod fail;
mod flow;
mod passes;
mod registers;

pub use built_in::with_built_in;
pub use expand::subroutine::addresses;
pub use fail::Fail;

pub use decode::{SupportedOpcode, supported_opcodes};

use decode::{Names, SharedLayout};
use expand::inline::{self, Flat, FlatInst};
use expand::params;
use expand::signature::param_layout;
use fail::fail;
use flow::{cfg, liveness};
use pagemill_ptx_ir::ast::{Function, Module, Operand, Space, Variable};
use pagemill_ptx_ir::code::device_calls::Launchable;
use pagemill_ptx_ir::code::entry::Entry;
use pagemill_ptx_ir::info::{ClusterNeeds, IssueOrder, Param};
use passes::{issue_order, scoreboard, simplify};
use registers::{allocate, occupancy};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest argument block of a kernel in bytes.
const PARAM_BYTES_MAX: u64 = 32_764;

/// Every kernel of `ast` with a body, by name. `module_id` is kept in each: which module it came from.
pub fn kernels_of(
    ast: &Module,
    module_id: u64,
    source_name: &Arc<str>,
    issue_order: IssueOrder,
) -> Vec<(String, Result<Entry, Fail>)> {
    let variables = ast
        .variables
        .iter()
        .zip(0..)
        .map(|(variable, index)| (variable.name.as_str(), (index, variable.space)));
    let functions = addresses(ast);
    let shared = Shared {
        module: ast,
        module_id,
        source_name: source_name.clone(),
        files: Arc::new(ast.files.clone()),
        variables: variables.collect(),
        kernels: launchable(ast, &functions),
        functions,
        issue_order,
    };
    let entries = ast
        .functions
        .iter()
        .filter(|function| function.is_entry && function.has_body);
    entries
        .map(|function| (function.name.clone(), kernel(&shared, function)))
        .collect()
}

/// What all kernels of a module share.
struct Shared<'a> {
    module: &'a Module,
    module_id: u64,
    source_name: Arc<str>,
    files: Arc<Vec<(u32, String)>>,
    /// Index and space of each module-level variable.
    variables: HashMap<&'a str, (u32, Space)>,
    /// Addresses of the functions that have one.
    functions: HashMap<&'a str, u64>,
    /// Kernels that have an address.
    kernels: Arc<[Launchable]>,
    issue_order: IssueOrder,
}

/// The kernels of `module` whose address is in `functions`.
fn launchable(module: &Module, functions: &HashMap<&str, u64>) -> Arc<[Launchable]> {
    let kernels = module
        .functions
        .iter()
        .filter(|function| function.is_entry && function.has_body);
    let with_address = kernels.filter_map(|function| {
        let end = param_layout(function).last().copied();
        Some(Launchable {
            address: *functions.get(function.name.as_str())?,
            name: function.name.as_str().into(),
            param_bytes: end.map_or(0, |(offset, bytes)| offset + bytes),
            max_threads: max_threads(function),
        })
    });
    with_address.collect()
}

// The order of the passes. Each counts on those before it:
//
//   expand       calls become text, so that all below sees one body
//   decode       instructions become micro-operations over virtual registers
//   simplify     constants and copies are replaced, what is never read becomes nothing; instructions stay, to be counted
//   issue order  loads move up where the machine's code has them early
//   scoreboard   slots for late results, given out in that order
//   liveness     of what is left: its pressure is the registers of a thread, and so the occupancy
//   allocate     virtual registers onto slots; a copy within a slot is not executed
//   emit         twice: with waits for runs in time, without for the others
/// Lowers one `.entry`.
fn kernel(shared: &Shared<'_>, function: &Function) -> Result<Entry, Fail> {
    check_params(function)?;
    let flat = inline::expand(shared.module, &shared.functions, function)?;
    let placed = params::place(&flat);
    let layout = shared_layout(shared.module, &flat)?;
    let names = Names {
        variables: &shared.variables,
        shared: &layout,
        functions: &shared.functions,
        module: shared.module,
        kernels: &shared.kernels,
        placed: &placed,
    };
    let decode::Decoded {
        mut program,
        mut infos,
    } = decode::decode(&flat, &names)?;
    simplify::run(&mut program);
    let graph = cfg::Graph::new(&mut program);
    simplify::propagate_copies(&mut program, &graph);
    simplify::remove_dead(&mut program);
    simplify::note_erased(&program, &mut infos);
    if shared.issue_order == IssueOrder::LoadsEarly {
        issue_order::run(&mut program, &graph, &mut infos);
    }
    scoreboard::assign(&mut program, &graph, &mut infos);
    let too_large = || {
        fail(
            function.line,
            format!("kernel {} is too large", function.name),
        )
    };
    let live = liveness::analyze(&program, &graph).ok_or_else(too_large)?;
    let slots = allocate::allocate(&program, &graph, &live).ok_or_else(|| {
        fail(
            function.line,
            format!("kernel {} needs too many registers at once", function.name),
        )
    })?;
    let mut code = emit::emit(&program, &graph, &slots, &live, &mut infos).ok_or_else(too_large)?;
    let local_bytes = u32::try_from(placed.local_bytes).unwrap_or(u32::MAX);
    if let Some(stack) = &mut code.stack {
        stack.bottom = local_bytes.checked_next_multiple_of(16).unwrap_or(u32::MAX);
    }
    let params: Vec<Param> = function
        .params
        .iter()
        .zip(param_layout(function))
        .map(param)
        .collect();
    Ok(Entry {
        name: function.name.clone(),
        param_bytes: params.last().map_or(0, |param| param.offset + param.bytes),
        params,
        registers_per_thread: live.pressure.min(max_registers(function)),
        allocated_registers: occupancy::allocated(live.pressure, max_threads(function))
            .min(max_registers(function)),
        shared_bytes: layout.bytes,
        local_bytes,
        max_threads: max_threads(function),
        cluster: cluster_needs(function),
        source_name: shared.source_name.clone(),
        files: shared.files.clone(),
        instructions: infos.into(),
        code: Arc::new(code),
        module_id: shared.module_id,
    })
}

/// Parameters must fit, before anything is laid out by them.
fn check_params(function: &Function) -> Result<(), Fail> {
    let total: u64 = function
        .params
        .iter()
        .map(|param| param.bytes.saturating_add(param.align))
        .fold(0, u64::saturating_add);
    if total <= 2 * PARAM_BYTES_MAX {
        return Ok(());
    }
    Err(fail(
        function.line,
        format!(
            "kernel {} has more than {PARAM_BYTES_MAX} bytes of parameters",
            function.name
        ),
    ))
}

fn param((variable, (offset, bytes)): (&Variable, (u32, u32))) -> Param {
    Param {
        name: variable.name.clone(),
        offset,
        bytes,
        align: variable.align as u32,
        ty: variable.ty,
    }
}

/// `.maxnreg`.
fn max_registers(function: &Function) -> u32 {
    let directives = function.directives.iter();
    let limits = directives.filter(|(name, _)| name == "maxnreg");
    let values = limits.flat_map(|(_, values)| values.iter().copied());
    values.min().unwrap_or(u32::MAX)
}

fn max_threads(function: &Function) -> Option<u32> {
    let product = |values: &Vec<u32>| {
        values
            .iter()
            .fold(1u32, |product, value| product.saturating_mul(*value))
    };
    let directives = function
        .directives
        .iter()
        .filter(|(name, _)| name == "maxntid" || name == "reqntid");
    directives.map(|(_, values)| product(values)).min()
}

fn cluster_needs(function: &Function) -> ClusterNeeds {
    let mut needs = ClusterNeeds::default();
    for (name, values) in &function.directives {
        match name.as_str() {
            "reqnctapercluster" => {
                let extent = |axis: usize| values.get(axis).copied().unwrap_or(1);
                needs.required = Some([extent(0), extent(1), extent(2)]);
            }
            "explicitcluster" => needs.is_explicit = true,
            "maxclusterrank" => needs.max_blocks = values.first().copied(),
            _ => {}
        }
    }
    needs
}

/// Most static shared memory that is laid out, in bytes; launches have a stricter limit.
const SHARED_BYTES_MAX: u64 = 1 << 24;

/// Places the shared variables that the kernel names; dynamic shared memory begins behind them.
fn shared_layout(module: &Module, flat: &Flat<'_>) -> Result<SharedLayout, Fail> {
    let mut layout = SharedLayout::default();
    let mut end = 0u64;
    let mut dynamic_align = 1;
    let mut dynamic = Vec::new();
    let mut place = |variable: &Variable| -> Result<u32, Fail> {
        let offset = end.next_multiple_of(variable.align.max(1));
        end = offset.saturating_add(variable.bytes);
        if end > SHARED_BYTES_MAX {
            return Err(fail(
                variable.line,
                format!(
                    "shared variable {} exceeds {SHARED_BYTES_MAX} bytes",
                    variable.name
                ),
            ));
        }
        Ok(offset as u32)
    };
    for (index, shared) in flat.shared.iter().enumerate() {
        if shared.variable.is_extern || shared.variable.bytes == 0 {
            dynamic_align = dynamic_align.max(shared.variable.align);
            dynamic.push(Err(index));
            layout.offsets.push(0);
        } else {
            layout.offsets.push(place(shared.variable)?);
        }
    }
    let named = named_symbols(flat);
    for variable in module
        .variables
        .iter()
        .filter(|variable| variable.space == Space::Shared)
    {
        if !named.contains(variable.name.as_str()) {
            continue;
        }
        if variable.is_extern || variable.bytes == 0 {
            dynamic_align = dynamic_align.max(variable.align);
            dynamic.push(Ok(variable.name.clone()));
        } else {
            let offset = place(variable)?;
            layout.module.insert(variable.name.clone(), offset);
        }
    }
    layout.bytes = end as u32;
    if !dynamic.is_empty() {
        layout.bytes = end.next_multiple_of(dynamic_align.clamp(1, 1024)) as u32;
    }
    // All arrays of dynamic shared memory begin at one address, as CUDA has it.
    for variable in dynamic {
        match variable {
            Ok(name) => drop(layout.module.insert(name, layout.bytes)),
            Err(index) => layout.offsets[index] = layout.bytes,
        }
    }
    Ok(layout)
}

/// Every name that stands as an operand.
fn named_symbols<'a>(flat: &Flat<'a>) -> std::collections::HashSet<&'a str> {
    let mut names = std::collections::HashSet::new();
    for inst in &flat.insts {
        let (FlatInst::Plain { inst, .. }
        | FlatInst::System { inst, .. }
        | FlatInst::Real { inst, .. }) = inst
        else {
            continue;
        };
        for operand in &inst.operands {
            match operand {
                Operand::Symbol(name, _) => drop(names.insert(name.as_str())),
                Operand::Address(address) => {
                    if let Operand::Symbol(name, _) = &address.base {
                        names.insert(name.as_str());
                    }
                }
                _ => {}
            }
        }
    }
    names
}
