//! A loaded PTX text, and its variables placed in memory.

use crate::memory::{DeviceMemory, MemoryError};
use crate::program::kernel::Kernel;
use pagemill_ptx_ir::address::window;
use pagemill_ptx_ir::ast::error::PtxError;
use pagemill_ptx_ir::ast::{Space, Variable};
use pagemill_ptx_ir::info::IssueOrder;
use pagemill_ptx_lower::{addresses, kernels_of, with_built_in};
use pagemill_ptx_parse::parse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A PTX translation unit with all its kernels ready to launch.
#[derive(Clone, Debug)]
pub struct Module {
    id: u64,
    source_name: Arc<str>,
    kernels: Vec<Kernel>,
    /// Kernels that cannot be executed, by name.
    failures: Vec<(String, PtxError)>,
    /// Addresses of functions, for those that have one.
    functions: BTreeMap<String, u64>,
    variables: Vec<Variable>,
}

/// The addresses of a module's variables in one [`DeviceMemory`].
#[derive(Clone, Debug)]
pub struct Linked {
    pub(crate) module_id: u64,
    /// By variable index; 0 for shared ones.
    pub(crate) addresses: Vec<u64>,
    names: Vec<String>,
}

impl Linked {
    /// Address of the module-level variable `name`.
    pub fn address(&self, name: &str) -> Option<u64> {
        let at = self.names.iter().position(|other| other == name)?;
        self.addresses
            .get(at)
            .copied()
            .filter(|address| *address != 0)
    }
}

impl Module {
    /// Reads PTX text and lowers every kernel in it. `source_name` is for messages.
    ///
    /// # Errors
    /// The first thing that is no PTX or that cannot be executed, with its line.
    pub fn load(source_name: &str, text: &str) -> Result<Self, PtxError> {
        Self::load_partly(source_name, text)?.whole()
    }

    /// This, if every kernel in it can be executed.
    ///
    /// # Errors
    /// Why the first that cannot be executed cannot.
    pub fn whole(mut self) -> Result<Self, PtxError> {
        match self.failures.is_empty() {
            true => Ok(self),
            false => Err(self.failures.swap_remove(0).1),
        }
    }

    /// Reads PTX text and lowers those kernels in it that can be executed. Of the others, [`Module::failure`] says why not.
    ///
    /// # Errors
    /// The first thing that is no PTX, with its line.
    pub fn load_partly(source_name: &str, text: &str) -> Result<Self, PtxError> {
        Self::load_ordered(source_name, text, IssueOrder::AsWritten)
    }

    /// As [`Module::load_partly`], with the instructions of its kernels in this order.
    ///
    /// # Errors
    /// The first thing that is no PTX, with its line.
    pub fn load_ordered(
        source_name: &str,
        text: &str,
        order: IssueOrder,
    ) -> Result<Self, PtxError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let ast = parse(source_name, &with_built_in(text))?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let source_name: Arc<str> = Arc::from(source_name);
        let (mut kernels, mut failures) = (Vec::new(), Vec::new());
        for (name, lowered) in kernels_of(&ast, id, &source_name, order) {
            match lowered {
                Ok(entry) => kernels.push(entry.into()),
                Err(error) => failures.push((name, error.locate(&source_name, text))),
            }
        }
        let addresses = addresses(&ast);
        let aliases = ast.aliases.iter().filter_map(|(alias, name)| {
            let address = addresses.get(name.as_str())?;
            Some((alias.clone(), *address))
        });
        let own = addresses.iter();
        let own = own.map(|(name, address)| ((*name).to_owned(), *address));
        let functions = own.chain(aliases).collect();
        Ok(Self {
            id,
            source_name,
            kernels,
            failures,
            functions,
            variables: ast.variables,
        })
    }

    /// Why the kernel of that (mangled) name cannot be executed; `None` if it can, or there is none.
    pub fn failure(&self, name: &str) -> Option<&PtxError> {
        let mut failures = self.failures.iter();
        failures
            .find(|(own, _)| own == name)
            .map(|(_, error)| error)
    }

    /// What the text was called.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Its kernels, in the order of the text.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of that (mangled) name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Bytes of its constants.
    pub fn constant_bytes(&self) -> u64 {
        let constants = self.variables.iter();
        let constants = constants.filter(|variable| variable.space == Space::Const);
        constants.map(|variable| variable.bytes).sum()
    }

    /// Gives the threads of its kernels at most `most` registers. What a compiler would keep in memory then costs nothing.
    pub fn limit_registers(&mut self, most: u32) {
        for Kernel { entry, .. } in &mut self.kernels {
            let most = most.max(1);
            entry.registers_per_thread = entry.registers_per_thread.min(most);
            entry.allocated_registers = entry.allocated_registers.min(most);
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Places `.global` and `.const` variables in `memory` and fills in their initial values.
    ///
    /// # Errors
    /// When memory refuses, or a variable refers to something that has no address.
    pub fn link(&self, memory: &mut DeviceMemory) -> Result<Linked, PtxError> {
        self.link_placed(memory, &BTreeMap::new())
    }

    /// The same, with the `.global` variables named in `placed` at these addresses, where their owner has made room for
    /// them.
    ///
    /// # Errors
    /// As [`Module::link`]; if there is no room at such an address.
    pub fn link_placed(
        &self,
        memory: &mut DeviceMemory,
        placed: &BTreeMap<String, u64>,
    ) -> Result<Linked, PtxError> {
        let mut addresses = vec![0; self.variables.len()];
        for (variable, address) in self.variables.iter().zip(&mut addresses) {
            let placed = match variable.space {
                Space::Global if placed.contains_key(&variable.name) => {
                    let at = placed[&variable.name];
                    memory.bytes(at, variable.bytes).map(|_| at)
                }
                Space::Global => memory.alloc(
                    &variable.name,
                    variable.bytes.max(1),
                    variable.align.max(256),
                ),
                Space::Const => place_constant(memory, variable),
                _ => continue,
            };
            *address = placed.map_err(|error| self.error(variable, error.to_string()))?;
        }
        let names = self
            .variables
            .iter()
            .map(|variable| variable.name.clone())
            .collect();
        let linked = Linked {
            module_id: self.id,
            addresses,
            names,
        };
        for (variable, &address) in self.variables.iter().zip(&linked.addresses) {
            if address != 0 {
                self.initialize(memory, &linked, variable, address)?;
            }
        }
        Ok(linked)
    }

    fn initialize(
        &self,
        memory: &mut DeviceMemory,
        linked: &Linked,
        variable: &Variable,
        address: u64,
    ) -> Result<(), PtxError> {
        let Some(init) = &variable.init else {
            return Ok(());
        };
        let mut bytes = init.clone();
        for relocation in &variable.relocations {
            let function = self.functions.get(&relocation.symbol).copied();
            let Some(target) = function.or_else(|| linked.address(&relocation.symbol)) else {
                return Err(self.error(
                    variable,
                    format!(
                        "its initial value refers to `{}`, which has no address",
                        relocation.symbol
                    ),
                ));
            };
            let value = target.wrapping_add(relocation.addend as u64) >> relocation.shift;
            let (at, width) = (
                relocation.offset as usize,
                usize::from(relocation.width).min(8),
            );
            let Some(place) = bytes.get_mut(at..at + width) else {
                return Err(self.error(
                    variable,
                    "its initial value is shorter than it says".to_owned(),
                ));
            };
            place.copy_from_slice(&value.to_le_bytes()[..width]);
        }
        let len = bytes.len() as u64;
        let target = memory
            .bytes_mut(address, len)
            .map_err(|error| self.error(variable, error.to_string()))?;
        target.copy_from_slice(&bytes);
        Ok(())
    }

    fn error(&self, variable: &Variable, message: String) -> PtxError {
        PtxError::new(
            &self.source_name,
            variable.line,
            format!("variable `{}`: {message}", variable.name),
        )
    }
}

/// Puts a constant behind the constants that are there already.
fn place_constant(memory: &mut DeviceMemory, variable: &Variable) -> Result<u64, MemoryError> {
    let constants = memory
        .allocations()
        .iter()
        .filter(|other| other.address() >= window::CONSTANT);
    let end = constants
        .map(|other| other.address() + other.bytes() + 1)
        .max()
        .unwrap_or(window::CONSTANT + 256);
    let align = variable.align.max(256).next_power_of_two();
    let address = end.next_multiple_of(align);
    memory.alloc_constant(&variable.name, address, variable.bytes.max(1))?;
    Ok(address)
}
