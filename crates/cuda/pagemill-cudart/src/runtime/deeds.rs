//! Who orders the work of streams: two deeds that use the same memory without an order between them are a mistake that
//! `--check` finds, and so is a touch of the CPU before the work that writes there was waited for.
//!
//! A deed is pending until the host has waited for it: whatever the host asks for later comes behind it.

use pagemill_ptx::{CheckTime, Defect, DeviceMemory, LaunchSpan};

use super::copies::{Copy3d, Extent, Span};
use super::device::Device;
use super::moments::{Knows, Mark, Moment};
use super::races::{Clash, Use, Uses, clashes};
use super::streams::StreamId;
use super::{Runtime, Side};
use crate::error::Fault;

/// Deeds that are remembered; of more, the oldest pass for ordered.
const PENDING_MAX: usize = 4096;
/// Ranges of bytes of all of them that are remembered.
const USES_MAX: usize = 1 << 22;
/// Rows of a copy that are told apart; with more, what is between them counts as used.
const ROWS_MAX: u64 = 4096;
/// The CPU's touches are known by its pages.
const PAGE_BYTES: u64 = 4096;

#[derive(Debug)]
enum Deed {
    Launch(LaunchSpan),
    Call(&'static str),
}

#[derive(Debug)]
struct Pending {
    mark: Mark,
    stream: StreamId,
    deed: Deed,
    /// Of a launch once it is needed.
    uses: Option<Uses>,
}

/// What streams did that the host has not waited for.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    pending: Vec<Pending>,
}

/// A launch that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    mark: Mark,
    knows: Knows,
    stream: StreamId,
    from: CheckTime,
}

impl Deeds {
    /// Looks for those that the new deed does not know, and remembers it.
    fn add_deed(&mut self, device: &mut Device, new: Pending, knows: &Knows) {
        let unknown = |old: &Pending| !knows.has(old.mark);
        let is_alone = !self.pending.iter().any(unknown);
        self.pending.push(new);
        let at = self.pending.len() - 1;
        if !is_alone || device.has_watched_memory() {
            self.read_traces_of(device, at);
        }
        let mut races = Vec::new();
        let (olds, new) = self.pending.split_at(at);
        for old in olds
            .iter()
            .filter(|old| unknown(old) && !old.may_meet(&new[0]))
        {
            if let (Some(earlier), Some(later)) = (&old.uses, &new[0].uses) {
                let found = clashes(earlier, later);
                races.extend(
                    found
                        .into_iter()
                        .map(|clash| (old.name(), old.stream, clash)),
                );
            }
        }
        let (name, stream) = (new[0].name(), new[0].stream);
        let memory = device.gpu.device_memory_mut();
        for (other, other_stream, clash) in races {
            report_race(memory, (name, stream), (other, other_stream), &clash);
        }
        self.watch_writes(device, at);
        self.bound_pending();
    }

    fn bound_pending(&mut self) {
        let pending = &mut self.pending;
        let mut uses: usize = pending.iter().map(Pending::uses).sum();
        let mut dropped = 0;
        while pending.len() - dropped > PENDING_MAX || uses > USES_MAX && dropped < pending.len() {
            uses -= pending[dropped].uses();
            dropped += 1;
        }
        pending.drain(..dropped);
    }

    fn read_traces(&mut self, device: &Device, wanted: impl Fn(&Pending) -> bool) {
        for at in 0..self.pending.len() {
            if wanted(&self.pending[at]) {
                self.read_traces_of(device, at);
            }
        }
    }

    /// Looks up what the launches of a deed did.
    fn read_traces_of(&mut self, device: &Device, at: usize) {
        let pending = &mut self.pending[at];
        if let (Deed::Launch(span), None) = (&pending.deed, &pending.uses) {
            let traces = device.gpu.device_memory().traces(span).unwrap_or_default();
            pending.uses = Some(Uses::of_kernels(traces));
        }
    }

    /// The CPU touched these addresses since the last call.
    pub(super) fn note_touches(&mut self, device: &mut Device, addresses: &[u64]) {
        for &address in addresses {
            let Some((start, bytes)) = device.allocation(address) else {
                continue;
            };
            let page = address & !(PAGE_BYTES - 1);
            let (first, end) = (page.max(start), (page + PAGE_BYTES).min(start + bytes));
            let race = self.pending.iter().find_map(|own| {
                let (bytes, any) = own.uses.as_ref()?.written(first, end);
                let is_race = bytes == end - first && !own.has_released();
                any.filter(|_| is_race)
                    .map(|own_use| (own.name(), own.stream, own_use))
            });
            if let Some((name, stream, written)) = race {
                report_touch(
                    device.gpu.device_memory_mut(),
                    name,
                    stream,
                    first,
                    &written,
                );
            }
        }
    }

    /// Closes the pages that a deed writes, so that the CPU's touch is seen.
    fn watch_writes(&mut self, device: &mut Device, at: usize) {
        let Some(uses) = &self.pending[at].uses else {
            return;
        };
        let written: Vec<(u64, u64)> = uses.writes.iter().map(|own| (own.start, own.end)).collect();
        device.close_watched_pages(&written);
    }
}

impl Runtime {
    fn looks_at_order(&self) -> bool {
        self.device.setting.check && !self.streams.has_waiting()
    }

    /// A launch begins in `stream`; nothing where the order is not looked at.
    pub(super) fn launch_begins(&mut self, stream: StreamId) -> Result<Option<Begun>, Fault> {
        if !self.looks_at_order() {
            return Ok(None);
        }
        let (mark, knows) = self.streams.deed(stream)?;
        // The launch hides what those before it left.
        self.deeds
            .read_traces(&self.device, |own| !knows.has(own.mark));
        let from = self.device.gpu.device_memory().check_time();
        Ok(Some(Begun {
            mark,
            knows,
            stream,
            from,
        }))
    }

    /// A copy between two sides in `stream`.
    pub(super) fn note_copy(
        &mut self,
        copy: &Copy3d,
        (to, from): (Side, Side),
        stream: StreamId,
    ) -> Result<(), Fault> {
        let side = |span: &Span, side: Side| match side {
            Side::Host => Vec::new(),
            _ => rows(span, &copy.extent),
        };
        let uses = Uses {
            reads: side(&copy.from, from),
            writes: side(&copy.to, to),
        };
        self.note_call_in(stream, "a copy", uses)?;
        if self.looks_at_order() && to == Side::Host {
            // Such a copy returns when all is there.
            let all = self.streams.ready(stream)?;
            self.host_learns(&all);
        }
        Ok(())
    }

    /// A fill in `stream`.
    pub(super) fn note_fill(
        &mut self,
        span: &Span,
        extent: &Extent,
        stream: StreamId,
    ) -> Result<(), Fault> {
        let uses = Uses {
            reads: Vec::new(),
            writes: rows(span, extent),
        };
        self.note_call_in(stream, "a fill", uses)
    }

    /// Memory of `bytes` at `address` is freed in its turn in `stream`.
    pub(super) fn note_free(
        &mut self,
        address: u64,
        bytes: u64,
        stream: StreamId,
    ) -> Result<(), Fault> {
        let all = Use {
            start: address,
            end: address + bytes,
            trace: None,
        };
        let uses = Uses {
            reads: Vec::new(),
            writes: vec![all],
        };
        self.note_call_in(stream, "cudaFreeAsync", uses)?;
        // What is allocated there later is other memory.
        let is_inside = |own: &Use| address <= own.start && own.end <= address + bytes;
        for pending in &mut self.deeds.pending {
            if let Some(uses) = &mut pending.uses {
                uses.reads.retain(|own| !is_inside(own));
                uses.writes.retain(|own| !is_inside(own));
            }
        }
        Ok(())
    }

    fn note_call_in(
        &mut self,
        stream: StreamId,
        name: &'static str,
        uses: Uses,
    ) -> Result<(), Fault> {
        if !self.looks_at_order() {
            return Ok(());
        }
        let (mark, knows) = self.streams.deed(stream)?;
        self.deeds
            .read_traces(&self.device, |own| !knows.has(own.mark));
        let pending = Pending {
            mark,
            stream,
            deed: Deed::Call(name),
            uses: Some(uses),
        };
        self.deeds.add_deed(&mut self.device, pending, &knows);
        Ok(())
    }

    /// The host has waited: what it knows of is over.
    pub(super) fn host_has_waited(&mut self) {
        if self.deeds.pending.is_empty() {
            return;
        }
        let knows = self.streams.host_knows();
        self.deeds.pending.retain(|own| !knows.has(own.mark));
        if self.deeds.pending.is_empty() {
            self.streams.forget_deeds();
            self.device.open_watched_pages();
        }
    }

    /// A stream calls a function of the program, which may tell the host that all before it is done: another thread may
    /// hear so, and call CUDA, before the function has ended.
    pub fn host_function_begins(&mut self, before: &Moment) {
        if self.device.setting.check {
            self.return_touched();
            self.host_learns(before);
        }
    }

    /// It has ended.
    pub fn host_function_ended(&mut self) {
        if self.device.setting.check {
            // What it touched, it touched in the order of the stream.
            let _ = crate::managed::take_places();
            self.return_touched();
        }
    }

    /// The launch has ended, or something stopped it, or it waits for others: then no order is known any more.
    pub(super) fn launch_ended(&mut self, begun: Option<Begun>, is_done: bool) {
        let Some(begun) = begun else {
            return;
        };
        if !is_done {
            self.deeds.pending.clear();
            return;
        }
        let span = LaunchSpan::new(begun.from, self.device.gpu.device_memory().check_time());
        self.deeds.add_deed(
            &mut self.device,
            Pending {
                mark: begun.mark,
                stream: begun.stream,
                deed: Deed::Launch(span),
                uses: None,
            },
            &begun.knows,
        );
    }
}

impl Pending {
    fn name(&self) -> &'static str {
        match self.deed {
            Deed::Launch(_) => "a kernel",
            Deed::Call(name) => name,
        }
    }

    /// Ranges of bytes that are known of it.
    fn uses(&self) -> usize {
        let uses = self.uses.as_ref();
        uses.map_or(0, |uses| uses.reads.len() + uses.writes.len())
    }

    /// Whether a flag may order it and a later deed.
    fn may_meet(&self, later: &Self) -> bool {
        match (&self.deed, &later.deed) {
            (Deed::Launch(own), Deed::Launch(other)) => {
                own.may_be_met_by(other) || other.may_be_met_by(own)
            }
            _ => false,
        }
    }

    /// Whether a flag may have told the CPU.
    fn has_released(&self) -> bool {
        matches!(&self.deed, Deed::Launch(own) if own.has_released())
    }
}

/// The rows of one side of a copy.
fn rows(span: &Span, extent: &Extent) -> Vec<Use> {
    let part = |start: u64, bytes: u64| Use {
        start,
        end: start.saturating_add(bytes),
        trace: None,
    };
    let is_dense = extent.rows * extent.slices <= 1 || span.pitch_bytes == extent.width_bytes;
    if is_dense || extent.rows.saturating_mul(extent.slices) > ROWS_MAX {
        return vec![part(span.address, span.reach(extent).unwrap_or(0))];
    }
    let places = (0..extent.slices).flat_map(|slice| (0..extent.rows).map(move |row| (row, slice)));
    let row = |(row, slice)| part(span.address + span.offset(row, slice), extent.width_bytes);
    places.map(row).collect()
}

fn report_race(
    memory: &mut DeviceMemory,
    (name, stream): (&str, StreamId),
    (other, other_stream): (&str, StreamId),
    clash: &Clash,
) {
    let verb = |writes: bool| if writes { "write" } else { "read" };
    let address = clash.address();
    let (mine, theirs) = (verb(clash.later_writes), verb(clash.earlier_writes));
    let missing = "with no event, wait or stream order between them";
    match (&clash.later.trace, &clash.earlier.trace) {
        (Some(trace), earlier) => {
            let by = earlier.map_or_else(|| other.to_owned(), |own| memory.describe_trace(&own));
            let detail = format!(
                "{mine} at {address:#x} in {stream} after a {theirs} by {by} in {other_stream}, {missing}"
            );
            memory.note_trace(Defect::StreamRace, trace, detail);
        }
        (None, Some(trace)) => {
            let detail = format!(
                "{theirs} at {address:#x} in {other_stream} before a {mine} by {name} in {stream}, {missing}"
            );
            memory.note_trace(Defect::StreamRace, trace, detail);
        }
        (None, None) => {
            let place = format!("{name} in {stream}");
            let detail = format!(
                "{mine} at {address:#x} after a {theirs} by {other} in {other_stream}, {missing}"
            );
            memory.note_call(Defect::StreamRace, &place, detail);
        }
    }
}

fn report_touch(
    memory: &mut DeviceMemory,
    name: &'static str,
    stream: StreamId,
    page: u64,
    written: &Use,
) {
    let rest = format!(
        "in {stream}, and the CPU used that page before anything waited for it (cudaStreamSynchronize, \
         cudaEventSynchronize, cudaDeviceSynchronize)"
    );
    let detail = format!("write at {page:#x} {rest}");
    match &written.trace {
        Some(trace) => memory.note_trace(Defect::HostRace, trace, detail),
        None => memory.note_call(Defect::HostRace, &format!("{name} in {stream}"), detail),
    }
}
