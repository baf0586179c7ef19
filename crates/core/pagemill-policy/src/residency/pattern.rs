use std::fmt;

use super::WarpReader;

/// Bytes of an element: a float.
pub const ELEMENT_BYTES: u64 = 4;

/// Lanes of a warp, each of which reads one element an iteration.
pub const WARP_LANES: u64 = 32;

/// Which bytes the benchmark's kernel reads, and in which order (Garg 2021).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessPattern {
    /// Each iteration of the grid reads the next stretch of memory.
    GridStride,
    /// Each thread block reads a stretch of its own.
    BlockStride,
    /// Each iteration of a warp reads 128 bytes somewhere.
    RandomWarp,
}

impl AccessPattern {
    /// Every pattern, in the order of listings.
    pub const ALL: [Self; 3] = [Self::GridStride, Self::BlockStride, Self::RandomWarp];

    /// The name that scenarios and results use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GridStride => "grid-stride",
            Self::BlockStride => "block-stride",
            Self::RandomWarp => "random-warp",
        }
    }

    /// The pattern called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }
}

impl fmt::Display for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the warps of a block keep together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// A barrier of the block follows every iteration.
    LockStep,
    /// Each warp goes on by itself.
    FreeRunning,
}

impl Variant {
    /// Both, in the order of listings.
    pub const ALL: [Self; 2] = [Self::LockStep, Self::FreeRunning];

    /// The name that scenarios and results use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LockStep => "lock-step",
            Self::FreeRunning => "free-running",
        }
    }

    /// The variant called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variant| variant.name() == name)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A pattern over one allocation: everything that its reads depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternSpec {
    /// The order of reads.
    pub pattern: AccessPattern,
    /// Bytes of the allocation.
    pub bytes: u64,
    /// Thread blocks of the grid.
    pub blocks: u32,
    /// Warps of a thread block.
    pub warps_per_block: u32,
    /// Granule of the random choice in bytes: first a page is chosen, then a place in it.
    pub page_bytes: u64,
    /// Added to the thread numbers that random choices start from. The published benchmark has 0.
    pub seed: u64,
}

impl PatternSpec {
    /// Checks that every read is well defined.
    ///
    /// # Errors
    /// An empty grid; or too few bytes for one page, or pages too small, where pages are chosen at random.
    pub fn check(&self) -> Result<(), PatternError> {
        if self.blocks == 0 || self.warps_per_block == 0 {
            return Err(PatternError::EmptyGrid {
                blocks: self.blocks,
                warps_per_block: self.warps_per_block,
            });
        }
        let least_page = (WARP_LANES + 1) * ELEMENT_BYTES;
        if self.bytes < ELEMENT_BYTES {
            return Err(PatternError::Bytes {
                bytes: self.bytes,
                least: ELEMENT_BYTES,
            });
        }
        if self.pattern != AccessPattern::RandomWarp {
            return Ok(());
        }
        if self.page_bytes < least_page || !self.page_bytes.is_multiple_of(ELEMENT_BYTES) {
            return Err(PatternError::Page {
                page_bytes: self.page_bytes,
                least: least_page,
            });
        }
        if self.bytes < self.page_bytes {
            return Err(PatternError::Bytes {
                bytes: self.bytes,
                least: self.page_bytes,
            });
        }
        Ok(())
    }

    /// Elements of the allocation.
    pub fn elements(&self) -> u64 {
        self.bytes / ELEMENT_BYTES
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u64 {
        u64::from(self.warps_per_block) * WARP_LANES
    }

    /// Threads of the grid.
    pub fn threads(&self) -> u64 {
        self.threads_per_block() * u64::from(self.blocks)
    }

    /// Elements that a block reads under block stride, but for the last ones: one more than its even share.
    pub fn elements_per_block(&self) -> u64 {
        // Garg's kernel rounds up and adds one, so the last blocks of a large grid find little or nothing to read.
        self.elements().div_ceil(u64::from(self.blocks)) + 1
    }

    /// What warp `warp` of block `block` reads, in order.
    ///
    /// # Panics
    /// May divide by zero if [`PatternSpec::check`] refuses the specification.
    pub fn reader(&self, block: u32, warp: u32) -> WarpReader {
        WarpReader::new(self, block, warp)
    }

    /// What thread 0 of every block writes at the end.
    pub fn result_write(&self) -> WarpRead {
        WarpRead {
            start: 0,
            bytes: ELEMENT_BYTES as u32,
        }
    }
}

/// One read of a warp: contiguous bytes, an element for each lane that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpRead {
    /// Offset from the start of the allocation.
    pub start: u64,
    /// Bytes read; 128 but at the end of the data.
    pub bytes: u32,
}

/// Why a [`PatternSpec`] describes no kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// No thread block, or none with a warp.
    EmptyGrid {
        /// Thread blocks of the grid.
        blocks: u32,
        /// Warps of a block.
        warps_per_block: u32,
    },
    /// The allocation is too small.
    Bytes {
        /// Bytes of the allocation.
        bytes: u64,
        /// The least that is allowed.
        least: u64,
    },
    /// A page is too small to choose a place in, or holds a part of an element.
    Page {
        /// Bytes of the page.
        page_bytes: u64,
        /// The least that is allowed.
        least: u64,
    },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyGrid {
                blocks,
                warps_per_block,
            } => write!(
                f,
                "a grid of {blocks} blocks of {warps_per_block} warps reads nothing: use 1 or more of both"
            ),
            Self::Bytes { bytes, least } => write!(
                f,
                "an allocation of {bytes} B is too small for the pattern: use {least} B or more"
            ),
            Self::Page { page_bytes, least } => write!(
                f,
                "a page of {page_bytes} B cannot be read at random: use {least} B or more, in multiples of {ELEMENT_BYTES} B"
            ),
        }
    }
}

impl std::error::Error for PatternError {}
