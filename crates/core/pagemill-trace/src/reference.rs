/// What a reference does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It reads data.
    Read,
    /// It writes data.
    Write,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The first byte: virtual or physical, as the trace has it.
    pub address: u64,
    /// How many bytes; at least 1.
    pub bytes: u32,
    /// Whose: tasks of a trace are numbered from 0.
    pub task: u16,
    /// What it does.
    pub access: Access,
}
