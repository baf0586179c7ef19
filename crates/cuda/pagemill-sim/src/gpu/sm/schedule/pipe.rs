/// What an instruction keeps busy for the cycles of its issue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pipe {
    Integer,
    Multiply,
    Float32,
    Float64,
    Special,
    Shared,
    Memory,
    Control,
    Constant,
    Texture,
}
