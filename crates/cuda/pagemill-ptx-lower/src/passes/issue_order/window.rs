//! The order of instructions between two fences.

use super::effects::Unit;
use crate::flow::liveness::RegisterSet;
use crate::flow::program::{Class, Micro, VReg};
use std::collections::HashMap;

/// Instructions without a fence among them, and what must come before what.
pub(super) struct Window<'a> {
    classes: &'a [Class],
    /// By unit: those that wait for it.
    after: Vec<Vec<usize>>,
    /// By unit: how many it waits for.
    waits_for: Vec<u32>,
    /// By unit: cycles from its issue to the end of the longest path.
    path: Vec<u32>,
    reads: Vec<Vec<VReg>>,
    writes: Vec<Vec<VReg>>,
    live: &'a RegisterSet,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        classes: &'a [Class],
        micros: &[Micro],
        units: &[Unit],
        live: &'a RegisterSet,
    ) -> Self {
        let registers = |unit: &Unit, of: fn(&Micro) -> Vec<VReg>| {
            let mut all: Vec<VReg> = micros[unit.micros.clone()].iter().flat_map(of).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let sources = |micro: &Micro| micro.sources().collect();
        let results = |micro: &Micro| micro.dsts.clone();
        let mut window = Self {
            classes,
            after: vec![Vec::new(); units.len()],
            waits_for: vec![0; units.len()],
            path: vec![0; units.len()],
            reads: units.iter().map(|unit| registers(unit, sources)).collect(),
            writes: units.iter().map(|unit| registers(unit, results)).collect(),
            live,
        };
        window.order_registers();
        window.order_memory(units);
        window.measure(units);
        window
    }

    fn must_follow(&mut self, first: usize, then: usize) {
        // A pass brings pairs in the order of `then`, so the same pair again is the last one. A pair of both passes counts twice, and
        // is released twice.
        if first != then && self.after[first].last() != Some(&then) {
            self.after[first].push(then);
            self.waits_for[then] += 1;
        }
    }

    fn order_registers(&mut self) {
        let mut writer: HashMap<VReg, usize> = HashMap::new();
        let mut readers: HashMap<VReg, Vec<usize>> = HashMap::new();
        for unit in 0..self.reads.len() {
            for register in self.reads[unit].clone() {
                if let Some(&first) = writer.get(&register) {
                    self.must_follow(first, unit);
                }
                // A later write of the register has to wait for this read: registers keep their names.
                readers.entry(register).or_default().push(unit);
            }
            for register in self.writes[unit].clone() {
                if let Some(first) = writer.insert(register, unit) {
                    self.must_follow(first, unit);
                }
                for first in readers.remove(&register).unwrap_or_default() {
                    self.must_follow(first, unit);
                }
            }
        }
    }

    fn order_memory(&mut self, units: &[Unit]) {
        for then in 0..units.len() {
            for first in 0..then {
                if units[then].effect.follows(&units[first].effect) {
                    self.must_follow(first, then);
                }
            }
        }
    }

    fn measure(&mut self, units: &[Unit]) {
        // What waits stands behind, so one pass from the end sees each path whole.
        for unit in (0..units.len()).rev() {
            let longest = self.after[unit].iter().map(|&after| self.path[after]).max();
            self.path[unit] = longest.unwrap_or(0) + units[unit].latency.max(1);
        }
    }

    fn width(&self, register: VReg) -> i64 {
        match self.classes[register.index()] {
            Class::Narrow => 1,
            Class::Wide => 2,
            Class::Predicate => 0,
        }
    }

    /// Numbers of units in the order of their issue: the longest path first, as long as all registers that are needed at once
    /// are within `budget`; then what needs the fewest more.
    pub(super) fn order(mut self, budget: u32) -> Vec<usize> {
        let count = self.reads.len();
        let mut uses: HashMap<VReg, u32> = HashMap::new();
        for register in self.reads.iter().flatten() {
            *uses.entry(*register).or_insert(0) += 1;
        }
        let mut held = self.held_before();
        let mut ready: Vec<usize> = (0..count)
            .filter(|&unit| self.waits_for[unit] == 0)
            .collect();
        let mut order = Vec::with_capacity(count);
        while !ready.is_empty() {
            let growth = |unit: usize| self.growth(unit, &uses);
            let within = held < i64::from(budget);
            // Within the budget by time, beyond it by room. The order as written breaks ties, so that the result is one.
            let rank = |&(_, &unit): &(usize, &usize)| match within {
                true => (i64::from(u32::MAX - self.path[unit]), unit),
                false => (growth(unit), unit),
            };
            let (at, _) = ready.iter().enumerate().min_by_key(rank).unwrap_or((0, &0));
            let unit = ready.swap_remove(at);
            held += self.growth(unit, &uses);
            for register in &self.reads[unit] {
                uses.entry(*register).and_modify(|left| *left -= 1);
            }
            for then in std::mem::take(&mut self.after[unit]) {
                self.waits_for[then] -= 1;
                if self.waits_for[then] == 0 {
                    ready.push(then);
                }
            }
            order.push(unit);
        }
        order
    }

    /// 32-bit registers that are live before the first instruction, those that nothing here reads included.
    fn held_before(&self) -> i64 {
        let mut written: HashMap<VReg, ()> = HashMap::new();
        let mut held = HashMap::new();
        for unit in 0..self.reads.len() {
            for register in &self.reads[unit] {
                if !written.contains_key(register) {
                    held.insert(*register, ());
                }
            }
            written.extend(self.writes[unit].iter().map(|register| (*register, ())));
        }
        let through = self.live.iter().map(|register| VReg(register as u32));
        held.extend(
            through
                .filter(|register| !written.contains_key(register))
                .map(|register| (register, ())),
        );
        held.keys().map(|register| self.width(*register)).sum()
    }

    /// 32-bit registers that are held behind `unit` and were not before, less those that are no longer.
    fn growth(&self, unit: usize, uses: &HashMap<VReg, u32>) -> i64 {
        let is_last = |register: &&VReg| {
            uses.get(register) == Some(&1) && !self.live.contains(register.index())
        };
        let ends: i64 = self.reads[unit]
            .iter()
            .filter(is_last)
            .map(|register| self.width(*register))
            .sum();
        let begins: i64 = self.writes[unit]
            .iter()
            .map(|register| self.width(*register))
            .sum();
        begins - ends
    }
}
