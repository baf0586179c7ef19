//! Which registers of the warp are held in vector registers, at one point of the code under construction.

use crate::assembler::encode::Zmm;
use crate::flow::liveness::Slot;
use pagemill_ptx_ir::code::{AddressOperand, Bank, MemoryInst};
use pagemill_ptx_ir::line::CONSTANT_BIT;

/// What a group of vector registers holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub bank: Bank,
    pub operand: u16,
}

impl Name {
    pub(crate) fn narrow(operand: u16) -> Self {
        Self {
            bank: Bank::Narrow,
            operand,
        }
    }

    pub(crate) fn wide(operand: u16) -> Self {
        Self {
            bank: Bank::Wide,
            operand,
        }
    }

    /// Where a memory instruction's addresses come from.
    pub(crate) fn of_address(memory: &MemoryInst) -> Self {
        match memory.address {
            AddressOperand::Narrow(operand) => Self::narrow(operand),
            AddressOperand::Wide(operand) => Self::wide(operand),
        }
    }

    pub(crate) fn is_constant(self) -> bool {
        self.operand & CONSTANT_BIT != 0
    }

    pub(crate) fn slot(self) -> Option<Slot> {
        Slot::of(self.bank, self.operand)
    }

    /// Vector registers it takes: constants are the same in all lanes.
    pub(crate) fn len(self) -> usize {
        match self.bank {
            _ if self.is_constant() => 1,
            Bank::Wide => 4,
            _ => 2,
        }
    }
}

/// A line that is held in vector registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub name: Name,
    /// The first [`Name::len`] count.
    pub registers: [Zmm; 4],
    /// Whether memory holds something older.
    pub is_dirty: bool,
    /// Whether it may hold NaNs that PTX would have replaced by its own. Operations that do not tell NaNs apart read it
    /// as it is; others need it canonical.
    pub is_raw: bool,
    /// The instruction that used it last.
    used: u32,
}

impl Entry {
    pub(crate) fn registers(&self) -> &[Zmm] {
        &self.registers[..self.name.len()]
    }
}

/// All lines that are held, and the registers that are free.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    /// One bit a register.
    free: u32,
    /// Counts instructions.
    now: u32,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: u32::MAX,
            now: 0,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.free = u32::MAX;
    }

    /// Begins the next instruction: what it uses stays until it ends.
    pub(crate) fn next(&mut self) {
        self.now += 1;
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of `name`, now in use.
    pub(crate) fn find(&mut self, name: Name) -> Option<&mut Entry> {
        let now = self.now;
        let entry = self.entries.iter_mut().find(|entry| entry.name == name)?;
        entry.used = now;
        Some(entry)
    }

    /// A free register.
    pub(crate) fn take(&mut self) -> Option<Zmm> {
        let register = self.free.trailing_zeros();
        (register < 32).then(|| {
            self.free &= !(1 << register);
            register as Zmm
        })
    }

    pub(crate) fn release(&mut self, registers: &[Zmm]) {
        for register in registers {
            self.free |= 1 << register;
        }
    }

    /// Removes the entry that was not used for longest, and that this instruction does not use.
    pub(crate) fn evict(&mut self) -> Option<Entry> {
        let candidates = self.entries.iter().enumerate();
        let (at, _) = candidates
            .filter(|(_, entry)| entry.used != self.now)
            .min_by_key(|(_, entry)| entry.used)?;
        Some(self.remove(at))
    }

    fn remove(&mut self, at: usize) -> Entry {
        let entry = self.entries.swap_remove(at);
        self.release(entry.registers());
        entry
    }

    /// Lets `registers` hold `name` from now on, instead of whatever did.
    pub(crate) fn define(&mut self, name: Name, registers: [Zmm; 4], is_dirty: bool, is_raw: bool) {
        if let Some(at) = self.entries.iter().position(|entry| entry.name == name) {
            self.remove(at);
        }
        self.entries.push(Entry {
            name,
            registers,
            is_dirty,
            is_raw,
            used: self.now,
        });
    }

    /// Drops every entry for which `keeps` does not hold.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&Entry) -> bool) {
        let mut at = 0;
        while at < self.entries.len() {
            if keeps(&self.entries[at]) {
                at += 1;
            } else {
                self.remove(at);
            }
        }
    }
}
