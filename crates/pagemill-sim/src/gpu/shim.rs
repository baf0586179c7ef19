//! Stands in for the executor's device memory until it is merged.

#[derive(Debug, Default)]
pub(crate) struct DeviceMemory {
    allocations: Vec<Allocation>,
}

#[derive(Debug)]
pub(crate) struct Allocation {
    name: String,
    address: u64,
    data: Vec<u8>,
}

impl Allocation {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.data.len() as u64
    }
}

#[derive(Debug, thiserror::Error)]
#[error("device memory refused")]
pub struct MemoryError;

impl DeviceMemory {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn alloc_at(&mut self, name: &str, address: u64, bytes: u64) -> Result<usize, MemoryError> {
        self.allocations.push(Allocation { name: name.to_owned(), address, data: vec![0; bytes as usize] });
        Ok(self.allocations.len() - 1)
    }

    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        self.allocations.iter().position(|a| address.wrapping_sub(a.address) < a.bytes())
    }

    pub(crate) fn allocation(&self, index: usize) -> Option<&Allocation> {
        self.allocations.get(index)
    }

    pub(crate) fn bytes(&self, address: u64, _len: u64) -> Result<&[u8], MemoryError> {
        self.find(address).map(|i| &self.allocations[i].data[..]).ok_or(MemoryError)
    }

    pub(crate) fn bytes_mut(&mut self, address: u64, _len: u64) -> Result<&mut [u8], MemoryError> {
        self.find(address).map(|i| &mut self.allocations[i].data[..]).ok_or(MemoryError)
    }
}
