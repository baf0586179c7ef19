//! Finds values that no machine can have.

use crate::gpu::machine::{GpuMachine, Memory, Translation, WriteBursts};
use pagemill_pages::SpecError;
use pagemill_pages::parts::cache::CacheSpec;
use pagemill_pages::parts::dram::DramSpec;
use pagemill_pages::parts::event_heap::WARP_BITS;
use pagemill_pages::parts::page_walk::WalkerSpec;
use pagemill_pages::parts::tlb::TlbSpec;
use pagemill_types::Picos;

/// Warps that the event loop can tell apart.
pub(crate) const MAX_RESIDENT_WARPS: u64 = 1 << WARP_BITS;

impl GpuMachine {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is impossible: its key, what was given and what is allowed.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_sm()?;
        self.check_translation()?;
        check_cache("l1", &self.l1)?;
        check_cache("l2", &self.l2)?;
        self.check_memory()?;
        let overheads = [
            ("host.launch_overhead", self.launch_overhead),
            ("gmmu.fault_overhead", self.gmmu.fault_overhead),
            ("link.latency", self.link.latency),
        ];
        for (key, span) in overheads {
            // One second: far beyond any machine, and far from overflow.
            at_most(key, span.0, 1_000_000_000_000, "picoseconds")?;
        }
        Ok(())
    }

    fn check_sm(&self) -> Result<(), SpecError> {
        let sm = &self.sm;
        within("sm.count", sm.count, 1, 1024)?;
        within("sm.schedulers", sm.schedulers, 1, 16)?;
        within("sm.max_warps", sm.max_warps, 1, 256)?;
        within("sm.max_blocks", sm.max_blocks, 1, 256)?;
        within("sm.max_threads", sm.max_threads, 32, 256 * 32)?;
        within(
            "sm.max_threads_per_block",
            sm.max_threads_per_block,
            1,
            1024,
        )?;
        within("sm.registers", sm.registers, 1, 1 << 24)?;
        within("sm.register_unit", sm.register_unit, 1, 1 << 16)?;
        within(
            "sm.max_registers_per_thread",
            sm.max_registers_per_thread,
            1,
            1 << 16,
        )?;
        within("sm.shared_memory", sm.shared_bytes, 0, 1 << 24)?;
        within("sm.shared_memory_unit", sm.shared_unit, 1, 1 << 16)?;
        within("sm.segment_cycles", sm.segment_cycles, 0, MAX_CYCLES)?;
        let wide = sm.wide_sectors_per_cycle.unwrap_or(1);
        within("sm.wide_sectors_per_cycle", wide, 1, 4)?;
        within(
            "sm.shared_replay_cycles",
            sm.shared_replay_cycles,
            0,
            MAX_CYCLES,
        )?;
        within(
            "sm.block_start_cycles",
            sm.block_start_cycles,
            0,
            MAX_CYCLES,
        )?;
        let warps = u64::from(sm.count) * u64::from(sm.max_warps);
        if warps > MAX_RESIDENT_WARPS {
            let allowed = format!("count x max_warps must be at most {MAX_RESIDENT_WARPS}");
            return Err(SpecError::new("sm.count", sm.count, allowed));
        }
        self.check_timings()
    }

    fn check_timings(&self) -> Result<(), SpecError> {
        let timings = &self.sm.timings;
        let classes = [
            ("integer", timings.integer),
            ("integer_multiply", timings.integer_multiply),
            ("float32", timings.float32),
            ("float64", timings.float64),
            ("special", timings.special),
            ("convert", timings.convert),
            ("shared", timings.shared),
            ("constant", timings.constant),
            ("memory", timings.memory),
            ("control", timings.control),
        ];
        for (class, timing) in classes {
            // A free instruction would let an endless loop stand still in time.
            within(
                &format!("sm.timings.{class}.issue_cycles"),
                timing.issue_cycles,
                1,
                MAX_CYCLES,
            )?;
            within(
                &format!("sm.timings.{class}.latency_cycles"),
                timing.latency_cycles,
                0,
                MAX_CYCLES,
            )?;
        }
        Ok(())
    }

    fn check_translation(&self) -> Result<(), SpecError> {
        match &self.translation {
            Translation::OneLevel { tlb, walker, .. } => check_one_level(tlb, walker)?,
            Translation::TwoLevels(spec) => spec.check()?,
        }
        within("gmmu.buffer_entries", self.gmmu.buffer_entries, 1, 1 << 20)?;
        if let Some(most) = self.gmmu.concurrent_migrations {
            within("gmmu.concurrent_migrations", most, 1, 1 << 20)?;
        }
        if let Some(chain) = self.gmmu.transactions {
            within("gmmu.transactions.bytes", chain.bytes, 1, 1 << 30)?;
            within("gmmu.transactions.in_flight", chain.in_flight, 1, 1 << 20)?;
            let units = chain.units_in_flight;
            within("gmmu.transactions.units_in_flight", units, 1, 1 << 20)?;
        }
        within(
            "gmmu.state_query_cycles",
            self.gmmu.state_query_cycles,
            0,
            MAX_CYCLES,
        )?;
        within(
            "gmmu.state_update_cycles",
            self.gmmu.state_update_cycles,
            0,
            MAX_CYCLES,
        )
    }

    fn check_interconnect(&self) -> Result<(), SpecError> {
        let spec = &self.interconnect;
        let latencies = [
            ("latency_cycles", spec.latency_cycles),
            ("answer_cycles", spec.answer_cycles.unwrap_or_default()),
        ];
        for (key, cycles) in latencies {
            within(&format!("interconnect.{key}"), cycles, 0, MAX_CYCLES)?;
        }
        let stores = spec.sm_stores.map(|way| way.bytes_per_cycle);
        let rates = [
            ("bytes_per_cycle", spec.bytes_per_cycle),
            ("sm_bytes_per_cycle", spec.sm_bytes_per_cycle),
            (
                "store_bytes_per_cycle",
                spec.store_bytes_per_cycle.unwrap_or(1),
            ),
            ("sm_store_bytes_per_cycle", stores.unwrap_or(1)),
        ];
        for (key, rate) in rates {
            within(&format!("interconnect.{key}"), rate, 1, 1 << 16)?;
        }
        let header = spec.sm_stores.map_or(0, |way| way.header_bytes);
        within("interconnect.store_header", header, 0, 1 << 16)
    }

    fn check_memory(&self) -> Result<(), SpecError> {
        self.check_interconnect()?;
        let fetch = self.l2_fetch_bytes.unwrap_or(32);
        power_of_two("l2.fetch_bytes", fetch, 32, 128)?;
        match &self.memory {
            Memory::Channels {
                dram,
                partition_bytes,
                ..
            } => {
                check_dram(dram)?;
                power_of_two("dram.interleave", *partition_bytes, 128, 1 << 30)?;
            }
            Memory::Rate {
                latency,
                slices,
                writes,
                ..
            } => check_rate(*latency, *slices, *writes)?,
        }
        within("link.payload_bytes", self.link.payload_bytes, 0, 1 << 20)?;
        within("link.header_bytes", self.link.header_bytes, 0, 1 << 20)?;
        let bandwidths = [
            (self.memory.bandwidth_key(), self.memory.bandwidth()),
            ("link.bandwidth", self.link.to_gpu),
            ("link.bandwidth_to_cpu", self.link.to_cpu),
        ];
        for (key, bandwidth) in bandwidths {
            // Slower, and some terabytes overflow the clock.
            if bandwidth.bytes_per_second() < 1_000_000 {
                let value = format!("{} B/s", bandwidth.bytes_per_second());
                return Err(SpecError::new(key, value, "must be at least 1 MB/s"));
            }
        }
        if let Some(driver) = &self.driver {
            driver.check(self.memory_bytes, self.reserved_bytes)?;
        }
        // Whether it holds a page depends on the transfer mode's page, which is checked with it.
        match self.memory_bytes {
            Some(0) => Err(SpecError::new(
                self.memory.size_key(),
                0,
                "must be at least one page, or left out for no limit",
            )),
            _ => Ok(()),
        }
    }
}

fn check_rate(latency: Picos, slices: u32, writes: Option<WriteBursts>) -> Result<(), SpecError> {
    within("memory.slices", slices, 1, 1024)?;
    let turn_round = writes.map_or(Picos::ZERO, |burst| burst.turn_round);
    let times = [
        ("memory.latency", latency),
        ("memory.turn_round", turn_round),
    ];
    for (key, time) in times {
        at_most(key, time.0, 1_000_000_000_000, "picoseconds")?;
    }
    let lines = writes.map_or(1, |burst| burst.lines);
    within("memory.write_burst", lines, 1, 1 << 16)
}

fn check_one_level(tlb: &TlbSpec, walker: &WalkerSpec) -> Result<(), SpecError> {
    within("tlb.entries", tlb.entries, 1, 1 << 16)?;
    within("tlb.ports", tlb.ports, 1, 1024)?;
    within(
        "tlb.hit_latency_cycles",
        tlb.hit_latency_cycles,
        0,
        MAX_CYCLES,
    )?;
    if tlb.ways == 0 || !tlb.entries.is_multiple_of(tlb.ways) {
        let allowed = format!(
            "must divide tlb.entries = {} (the same number for a fully associative TLB)",
            tlb.entries
        );
        return Err(SpecError::new("tlb.ways", tlb.ways, allowed));
    }
    within(
        "walker.concurrent_walks",
        walker.concurrent_walks,
        1,
        1 << 16,
    )?;
    within(
        "walker.level_latency_cycles",
        walker.level_latency_cycles,
        0,
        MAX_CYCLES,
    )?;
    within("walker.address_bits", walker.address_bits, 32, 64)?;
    within("walker.level_bits", walker.level_bits, 1, 32)
}

fn check_dram(dram: &DramSpec) -> Result<(), SpecError> {
    within("dram.channels", dram.channels, 1, 1024)?;
    power_of_two("dram.banks", dram.banks, 1, 1024)?;
    power_of_two("dram.row_bytes", dram.row_bytes, 128, 1 << 20)?;
    within("dram.column_cycles", dram.column_cycles, 0, MAX_CYCLES)?;
    within("dram.activate_cycles", dram.activate_cycles, 0, MAX_CYCLES)?;
    within(
        "dram.precharge_cycles",
        dram.precharge_cycles,
        0,
        MAX_CYCLES,
    )?;
    within(
        "dram.row_cycle_cycles",
        dram.row_cycle_cycles,
        0,
        MAX_CYCLES,
    )
}

// Beyond any part of a machine, and so small that no sum of them overflows a clock.
const MAX_CYCLES: u32 = 1_000_000;

fn within(key: &str, value: u32, least: u32, most: u32) -> Result<(), SpecError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        value,
        format!("must be from {least} to {most}"),
    ))
}

fn at_most(key: &str, value: u64, most: u64, unit: &str) -> Result<(), SpecError> {
    if value <= most {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        format!("{value} {unit}"),
        format!("must be at most {most} {unit}"),
    ))
}

fn power_of_two(key: &str, value: u32, least: u32, most: u32) -> Result<(), SpecError> {
    if value.is_power_of_two() && (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        value,
        format!("must be a power of two from {least} to {most}"),
    ))
}

fn check_cache(name: &str, cache: &CacheSpec) -> Result<(), SpecError> {
    let key = |field: &str| format!("{name}.{field}");
    // Requests are 128-byte segments, and a line holds exactly one.
    if cache.line_bytes != crate::gpu::SEGMENT_BYTES as u32 {
        return Err(SpecError::new(
            key("line_bytes"),
            cache.line_bytes,
            "must be 128, the segment of a coalesced request",
        ));
    }
    within(&key("ways"), cache.ways, 1, 1024)?;
    within(&key("mshr_entries"), cache.mshr_entries, 1, 1 << 20)?;
    within(
        &key("hit_latency_cycles"),
        cache.hit_latency_cycles,
        0,
        MAX_CYCLES,
    )?;
    if cache.hashed_sets && !cache.sets().is_power_of_two() {
        return Err(SpecError::new(
            key("hashed_sets"),
            true,
            format!("it needs a power of two of sets, not {}", cache.sets()),
        ));
    }
    let way_bytes = cache.line_bytes * cache.ways;
    if cache.bytes == 0 || !cache.bytes.is_multiple_of(way_bytes) || cache.bytes > 1 << 30 {
        let allowed =
            format!("must be a multiple of line_bytes x ways = {way_bytes}, at most 1 GiB");
        return Err(SpecError::new(key("size"), cache.bytes, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
