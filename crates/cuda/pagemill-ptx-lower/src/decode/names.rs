//! Names: special registers, and variables of every space.

use super::context::Decoder;
use crate::expand::inline::Storage;
use crate::expand::params::ParamStorage;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, ServiceAux, VReg, Value};
use pagemill_ptx_ir::address::reserved_shared::{RESERVED_BYTES, SECOND_PART};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{ClockPart, Constant, LaneMask, Preset};
use pagemill_ptx_ir::op::Op;

impl Decoder<'_> {
    pub(super) fn special(
        &mut self,
        name: &str,
        component: Option<char>,
        class: Class,
    ) -> Result<Value, Fail> {
        let axis = match component {
            None | Some('x') => Some(0),
            Some('y') => Some(1),
            Some('z') => Some(2),
            Some(_) => None,
        };
        let narrow = match (name, axis) {
            ("tid", Some(axis)) => self.preset(Preset::ThreadIndex(axis)),
            ("ctaid", Some(axis)) => self.preset(Preset::BlockIndex(axis)),
            ("ntid", Some(axis)) => self.constant(Class::Narrow, Constant::BlockDim(axis))?,
            ("nctaid", Some(axis)) => self.constant(Class::Narrow, Constant::GridDim(axis))?,
            // The fourth component of a position. And one SM, as far as kernels can tell: where a
            // block is, the timing alone knows.
            ("tid" | "ctaid" | "gridid" | "smid", _) => self.bits(Class::Narrow, 0)?,
            ("ntid" | "nctaid" | "nsmid", _) => self.bits(Class::Narrow, 1)?,
            ("laneid", _) => self.preset(Preset::Lane),
            ("warpid", _) => self.preset(Preset::Warp),
            ("nwarpid", _) => self.constant(Class::Narrow, Constant::WarpsPerBlock)?,
            ("lanemask_eq", _) => self.preset(Preset::LaneMask(LaneMask::Equal)),
            ("lanemask_le", _) => self.preset(Preset::LaneMask(LaneMask::LessEqual)),
            ("lanemask_lt", _) => self.preset(Preset::LaneMask(LaneMask::Less)),
            ("lanemask_ge", _) => self.preset(Preset::LaneMask(LaneMask::GreaterEqual)),
            ("lanemask_gt", _) => self.preset(Preset::LaneMask(LaneMask::Greater)),
            ("dynamic_smem_size", _) => {
                self.constant(Class::Narrow, Constant::DynamicSharedBytes)?
            }
            ("total_smem_size", _) => self.constant(Class::Narrow, Constant::TotalSharedBytes)?,
            (name, _) if name.starts_with("reserved_smem") => self.reserved_shared(name)?,
            // Where `cooperative_groups` looks for the workspace of its grid.
            ("envreg1", _) => self.constant(Class::Narrow, Constant::GridWorkspaceHigh)?,
            ("envreg2", _) => self.constant(Class::Narrow, Constant::GridWorkspaceLow)?,
            ("clock" | "globaltimer_lo", _) => self.clock(ClockPart::Low),
            ("clock_hi" | "globaltimer_hi", _) => self.clock(ClockPart::High),
            ("clock64" | "globaltimer", _) => {
                let whole = self.clock(ClockPart::Whole);
                return match class {
                    Class::Wide => Ok(whole),
                    _ => Err(self.fail(format!("%{name} needs a 64-bit register"))),
                };
            }
            ("is_explicit_cluster", _) if class == Class::Predicate => {
                let explicit = self.constant(Class::Narrow, Constant::IsExplicitCluster)?;
                let zero = self.bits(Class::Narrow, 0)?;
                return Ok(self.fresh(Op::NotEqual32, Class::Predicate, &[explicit, zero]));
            }
            _ => self.cluster_register(name, axis)?,
        };
        match class {
            Class::Narrow => Ok(narrow),
            Class::Wide => {
                let wide = self.temporary(Class::Wide);
                self.push(Op::ZeroExtend32, &[wide], &[narrow], Aux::None);
                Ok(Value::Reg(wide))
            }
            Class::Predicate => Err(self.fail(format!("%{name} is no predicate"))),
        }
    }

    /// Where the shared memory that is reserved for the system lies, and its size.
    fn reserved_shared(&mut self, name: &str) -> Result<Value, Fail> {
        let offset = match name.strip_prefix("reserved_smem_offset_") {
            Some("begin" | "0") => 0,
            Some("1") => SECOND_PART,
            Some("end") => RESERVED_BYTES,
            _ => return self.bits(Class::Narrow, RESERVED_BYTES.into()),
        };
        self.constant(Class::Narrow, Constant::ReservedShared(offset))
    }

    /// Where the block is in its cluster, and the cluster in the grid.
    fn cluster_register(&mut self, name: &str, axis: Option<u8>) -> Result<Value, Fail> {
        let constant = match (name, axis) {
            ("clusterid", Some(axis)) => return Ok(self.preset(Preset::ClusterIndex(axis))),
            ("cluster_ctaid", Some(axis)) => return Ok(self.preset(Preset::ClusterBlock(axis))),
            ("cluster_ctarank", _) => return Ok(self.preset(Preset::ClusterRank)),
            ("clusterid" | "cluster_ctaid", None) => return self.bits(Class::Narrow, 0),
            ("nclusterid" | "cluster_nctaid", None) => return self.bits(Class::Narrow, 1),
            ("nclusterid", Some(axis)) => Constant::ClusterGridDim(axis),
            ("cluster_nctaid", Some(axis)) => Constant::ClusterDim(axis),
            ("cluster_nctarank", _) => Constant::ClusterBlocks,
            _ => return Err(self.fail(format!("special register %{name} is not supported"))),
        };
        self.constant(Class::Narrow, constant)
    }

    fn preset(&mut self, preset: Preset) -> Value {
        Value::Reg(self.program.preset(preset))
    }

    fn clock(&mut self, part: ClockPart) -> Value {
        let class = if part == ClockPart::Whole {
            Class::Wide
        } else {
            Class::Narrow
        };
        let dst = self.temporary(class);
        self.push(
            Op::Service,
            &[dst],
            &[],
            Aux::Service(ServiceAux::Clock(part)),
        );
        Value::Reg(dst)
    }

    /// What the name `name` stands for in the current scope.
    pub(super) fn storage(&self, name: &str) -> Option<Storage> {
        self.flat.scopes[self.scope].storage.get(name).copied()
    }

    /// The address of `name` in its own space.
    pub(super) fn symbol(&mut self, name: &str, addend: i64, class: Class) -> Result<Value, Fail> {
        let place = |offset: u32| u64::from(offset).wrapping_add(addend as u64);
        let bits = match self.storage(name) {
            Some(Storage::KernelParam { offset, .. }) => place(offset),
            Some(Storage::Local(offset)) => place(offset),
            Some(Storage::Shared(index)) => place(self.names.shared.offsets[index]),
            Some(Storage::CallParam(index)) => match self.names.placed.params[index] {
                ParamStorage::Local(offset) => place(offset),
                ParamStorage::Frame(offset) => {
                    let frame = self.program.stack().frame;
                    return self.on_stack(frame, place(offset), class);
                }
                ParamStorage::Registers => {
                    return Err(self.fail(format!("the address of {name} cannot be taken here")));
                }
            },
            Some(Storage::Frame(offset)) => {
                let frame = self.program.stack().frame;
                return self.on_stack(frame, place(offset), class);
            }
            Some(Storage::Argument(offset)) => {
                let arguments = self.program.stack().arguments;
                return self.on_stack(arguments, place(offset), class);
            }
            None => return self.module_symbol(name, addend, class),
        };
        self.bits(class, bits)
    }

    /// The place `offset` bytes behind where `base` points in local memory.
    fn on_stack(&mut self, base: VReg, offset: u64, class: Class) -> Result<Value, Fail> {
        let offset = self.bits(Class::Narrow, offset)?;
        let at = self.fresh(Op::Add32, Class::Narrow, &[Value::Reg(base), offset]);
        Ok(match class {
            Class::Wide => self.fresh(Op::ZeroExtend32, class, &[at]),
            _ => at,
        })
    }

    fn module_symbol(&mut self, name: &str, addend: i64, class: Class) -> Result<Value, Fail> {
        if let Some(offset) = self.names.shared.module.get(name) {
            return self.bits(class, u64::from(*offset).wrapping_add(addend as u64));
        }
        match self.names.variables.get(name) {
            Some((index, Space::Global | Space::Const)) => self.constant(
                class,
                Constant::Symbol {
                    index: *index,
                    addend,
                },
            ),
            _ => match self.function_address(name) {
                Some(address) => self.bits(class, address.wrapping_add(addend as u64)),
                None => Err(self
                    .fail(format!("`{name}` has no address that can be used here"))
                    .help("textures and surfaces by name are not supported")),
            },
        }
    }

    /// The address of a function, or of what an alias stands for.
    fn function_address(&self, name: &str) -> Option<u64> {
        let aliases = &self.names.module.aliases;
        let target = aliases.iter().find(|(alias, _)| alias == name);
        let name = target.map_or(name, |(_, function)| function);
        self.names.functions.get(name).copied()
    }
}
