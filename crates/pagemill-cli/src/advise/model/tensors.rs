//! The table of a model's tensors, and what of them a token reads.

use std::io;

/// Weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub name: String,
    pub bytes: u64,
    /// Rows of a matrix; an embedding has one for each token of the vocabulary.
    pub rows: u64,
}

/// All weights of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensors {
    pub all: Vec<Tensor>,
    /// Where the last one ends in the file.
    pub end_bytes: u64,
}

/// Names that tables of embeddings end with, and matrices that turn a result into a token.
const EMBEDDINGS: [&str; 3] = ["token_embd.weight", "embed_tokens.weight", "wte.weight"];
const OUTPUTS: [&str; 2] = ["output.weight", "lm_head.weight"];
/// What names of experts contain.
pub const EXPERTS: [&str; 2] = ["_exps.", ".experts."];

impl Tensors {
    /// Bytes of all weights.
    pub fn bytes(&self) -> u64 {
        self.all
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// Bytes that a token reads: every weight once, but of embeddings one row, unless they are the output too.
    pub fn token_bytes(&self) -> u64 {
        let is_one_of =
            |tensor: &Tensor, names: &[&str]| names.iter().any(|name| tensor.name.ends_with(name));
        let has_output = self.all.iter().any(|tensor| is_one_of(tensor, &OUTPUTS));
        let read = |tensor: &Tensor| match has_output && is_one_of(tensor, &EMBEDDINGS) {
            true => tensor.bytes / tensor.rows,
            false => tensor.bytes,
        };
        self.all
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(read(tensor)))
    }
}

/// What is wrong with a file.
pub fn bad(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
