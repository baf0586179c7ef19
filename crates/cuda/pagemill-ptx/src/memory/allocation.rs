//! One allocation of device memory, and where its bytes are.

use crate::check::Shadow;
use memmap2::{MmapMut, MmapOptions};
use std::sync::Arc;

/// Which allocation of a [`DeviceMemory`](super::DeviceMemory). Never re-used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(pub u32);

/// One allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub(super) id: AllocationId,
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) read_only: bool,
    pub(super) data: Backing,
    /// What those know who look for mistakes.
    pub(crate) shadow: Shadow,
}

/// Where the bytes of an allocation are.
#[derive(Debug)]
pub(super) enum Backing {
    /// In memory of its own.
    Owned(Box<[u8]>),
    /// In addresses whose pages the host commits when they are used: more than it would promise at once.
    Reserved(MmapMut),
    /// In memory that its lender shares with others.
    Lent(&'static mut [u8]),
    /// In the allocation at a place of the list that the parts of a launch found. Nothing is stored there.
    Shared(Arc<Vec<Allocation>>, usize),
}

/// `bytes` zero bytes whose pages are touched only when used, or `None` when the host has no room.
pub(super) fn zeroed(bytes: u64) -> Option<Box<[u8]>> {
    let len = usize::try_from(bytes).ok()?;
    // The zeroing allocation below cannot fail gracefully, so the room is tried out first; that touches nothing.
    Vec::<u8>::new().try_reserve_exact(len).ok()?;
    Some(vec![0; len].into_boxed_slice())
}

impl Backing {
    /// `bytes` zero bytes, of which a program may use few: a framework takes most of a GPU's memory at its start. `None` when
    /// the host does not even have the addresses.
    pub(super) fn zeroed(bytes: u64) -> Option<Self> {
        let reserved = || {
            let len = usize::try_from(bytes).ok()?;
            let mut options = MmapOptions::new();
            let mapped = options.len(len).no_reserve_swap().map_anon();
            mapped.ok().map(Self::Reserved)
        };
        zeroed(bytes).map(Self::Owned).or_else(reserved)
    }

    #[inline(always)]
    pub(super) fn get(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Reserved(bytes) => bytes,
            Self::Lent(bytes) => bytes,
            Self::Shared(found, at) => found[*at].data.get(),
        }
    }

    /// None of those that are shared.
    #[inline(always)]
    pub(super) fn get_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Reserved(bytes) => bytes,
            Self::Lent(bytes) => bytes,
            Self::Shared(..) => &mut [],
        }
    }
}

impl Clone for Backing {
    /// A copy has memory of its own, also where the original's is shared.
    fn clone(&self) -> Self {
        Self::Owned(self.get().into())
    }
}

impl Allocation {
    /// The bytes of allocation `at` of `found`, without its name.
    pub(crate) fn shared(found: &Arc<Vec<Self>>, at: usize) -> Self {
        let Self {
            id,
            address,
            read_only,
            ..
        } = found[at];
        Self {
            id,
            name: String::new(),
            address,
            read_only,
            data: Backing::Shared(Arc::clone(found), at),
            shadow: Shadow::default(),
        }
    }

    /// Its identity.
    pub fn id(&self) -> AllocationId {
        self.id
    }

    /// The name its owner gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.data.get().len() as u64
    }

    /// Offset of `address` in it, if all `bytes` bytes from there are inside.
    #[inline(always)]
    pub(crate) fn offset_of(&self, address: u64, bytes: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.address);
        let len = self.data.get().len() as u64;
        (offset <= len && bytes <= len - offset).then_some(offset as usize)
    }
}
