use pagemill_policy::coloring::ColorRange;
use pagemill_types::{PageSize, Picos, VirtAddr};

use super::address_space::{AddressSpace, Fault};
use super::frames::Frames;
use super::hierarchy::{Access, Hierarchy};
use super::machine::SharedCacheMachine;
use super::reference::{Reference, ReferenceStream};
use super::report::{CacheUse, TaskReport};
use super::run::{CopyTime, FlushScope, SharedCacheError};

/// What tasks have in common.
pub struct Shared<'a> {
    pub machine: &'a SharedCacheMachine,
    pub caches: Hierarchy,
    pub frames: Frames,
}

/// One task on its core.
pub struct Task {
    number: usize,
    stream: Box<dyn ReferenceStream>,
    block: Vec<Reference>,
    /// The next reference of `block`.
    next: usize,
    space: AddressSpace,
    pub now: Picos,
    reference_time: Picos,
    page: PageSize,
    line_shift: u32,
    report: TaskReport,
}

/// Whether a task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Runs,
    Ended,
}

impl Task {
    pub fn new(
        number: usize,
        stream: Box<dyn ReferenceStream>,
        colors: Option<ColorRange>,
        machine: &SharedCacheMachine,
    ) -> Self {
        Self {
            number,
            stream,
            block: Vec::new(),
            next: 0,
            space: AddressSpace::new(colors),
            now: Picos::ZERO,
            reference_time: machine.core.clock.cycles(machine.core.reference_cycles),
            page: machine.paging.page,
            line_shift: machine.l1.line_bytes.trailing_zeros(),
            report: TaskReport {
                first_colors: colors,
                ..TaskReport::default()
            },
        }
    }

    /// Runs while it is before `until`, or to its end.
    pub fn run(
        &mut self,
        until: Picos,
        shared: &mut Shared<'_>,
    ) -> Result<Progress, SharedCacheError> {
        while self.now < until {
            if self.next == self.block.len() {
                self.next = 0;
                self.stream.next_block(&mut self.block)?;
                if self.block.is_empty() {
                    return Ok(Progress::Ended);
                }
            }
            let reference = self.block[self.next];
            if self.refer(reference, shared)? {
                self.next += 1;
            }
        }
        Ok(Progress::Runs)
    }

    /// Does what `reference` asks for; `false` when it has to be asked again, after what it waits for.
    #[inline]
    fn refer(
        &mut self,
        reference: Reference,
        shared: &mut Shared<'_>,
    ) -> Result<bool, SharedCacheError> {
        let page = self.page.page_of(reference.address).0;
        let frame = match self.space.recent(page) {
            Some(frame) => frame,
            None => self.map(page, shared)?,
        };
        let access = Access {
            task: self.number,
            line: self.line_of(frame, reference.address, &shared.frames),
            is_write: reference.is_write,
        };
        match shared
            .caches
            .access(self.now, access, &mut self.report.cache)
        {
            Err(free_at) => {
                self.now = free_at;
                Ok(false)
            }
            Ok(data_at) => {
                let next = self.now + self.reference_time;
                // A reference whose value is not needed at once lets the core go on, until its cache has no miss register left.
                self.now = if reference.waits {
                    data_at.max(next)
                } else {
                    next
                };
                Ok(true)
            }
        }
    }

    #[inline]
    fn line_of(&self, frame: u64, address: VirtAddr, frames: &Frames) -> u64 {
        frames.first_line(frame) + (self.page.offset_of(address) >> self.line_shift) as u64
    }

    fn map(&mut self, page: u64, shared: &mut Shared<'_>) -> Result<u64, SharedCacheError> {
        let mapped = self
            .space
            .map(page, &mut shared.frames)
            .ok_or(SharedCacheError::TooManyPages)?;
        let Some(fault) = mapped.fault else {
            return Ok(mapped.frame);
        };
        let start = self.now;
        self.now += shared.machine.paging.fault;
        match fault {
            // The program has this fault with any colors: it is no cost of a change.
            Fault::FirstTouch => return Ok(mapped.frame),
            Fault::Remap => self.report.remapped_pages += 1,
            Fault::Copy { from } => self.copy(from, mapped.frame, shared),
        }
        self.report.recolor_time += self.now - start;
        Ok(mapped.frame)
    }

    /// Copies a page, line by line, through the caches of the core.
    fn copy(&mut self, from: u64, to: u64, shared: &mut Shared<'_>) {
        let (from, to) = (shared.frames.first_line(from), shared.frames.first_line(to));
        // A copy goes through the caches: what it pushes out of them is a part of its price.
        for line in 0..self.page.bytes() >> self.line_shift {
            self.copy_access(from + line, false, shared);
            self.copy_access(to + line, true, shared);
        }
        self.report.copied_pages += 1;
    }

    fn copy_access(&mut self, line: u64, is_write: bool, shared: &mut Shared<'_>) {
        let access = Access {
            task: self.number,
            line,
            is_write,
        };
        let counts: &mut CacheUse = &mut self.report.copy_cache;
        while let Err(free_at) = shared.caches.access(self.now, access, counts) {
            self.now = free_at;
        }
        self.now += self.reference_time;
    }

    /// Gives it other colors: unmaps and flushes now, and copies now or later.
    pub fn recolor(
        &mut self,
        colors: ColorRange,
        copy: CopyTime,
        flush: FlushScope,
        shared: &mut Shared<'_>,
    ) {
        let start = self.now;
        let paging = shared.machine.paging;
        let planned = self.space.recolor(colors);
        self.report.recolorings += 1;
        self.now += Picos(paging.unmap.0 * planned.unmap.len() as u64);
        if copy == CopyTime::Eager {
            for page in planned.unmap {
                let mapped = self.space.touch(page, &mut shared.frames);
                if let Some(Fault::Copy { from }) = mapped.fault {
                    self.copy(from, mapped.frame, shared);
                }
            }
        }
        if planned.is_needed {
            self.now += paging.flush_translations;
            if flush == FlushScope::Caches {
                self.now += paging.flush_caches;
                shared.caches.flush();
            }
        }
        self.report.recolor_time += self.now - start;
    }

    /// The colors that it has now.
    pub fn colors(&self) -> Option<ColorRange> {
        self.space.colors()
    }

    /// Misses of the shared cache so far.
    pub fn misses(&self) -> u64 {
        self.report.cache.misses
    }

    /// Pages that it has touched.
    pub fn pages(&self) -> u64 {
        self.space.len() as u64
    }

    /// What it did.
    pub fn into_report(self) -> TaskReport {
        TaskReport {
            end: self.now,
            pages: self.space.len() as u64,
            uncopied_pages: self.space.uncopied() as u64,
            colors: self.space.colors(),
            ..self.report
        }
    }
}
