//! The table of a model's tensors, and what of them a token reads.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{gguf, safetensors};
use crate::failure::Failure;

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
const EXPERTS: [&str; 2] = ["_exps.", ".experts."];

impl Tensors {
    /// Reads the table of the model at `path`, and nothing behind it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused =
            |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(|error| refused(&error))?;
        let file_bytes = file.metadata().map_err(|error| refused(&error))?.len();
        let tensors = table(&mut BufReader::new(file)).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                refused(&"it ends within the table of tensors: fetch it again")
            }
            _ => refused(&error),
        })?;
        if tensors.end_bytes > file_bytes {
            let text = format!(
                "its tensors end at byte {}, but it has {file_bytes}: fetch it again",
                tensors.end_bytes
            );
            return Err(refused(&text));
        }
        if tensors.token_bytes() == 0 {
            return Err(refused(&"it has no weights that a token reads"));
        }
        if tensors
            .all
            .iter()
            .any(|tensor| EXPERTS.iter().any(|part| tensor.name.contains(part)))
        {
            return Err(refused(
                &"a mixture of experts, of which each token reads others: dense models only",
            ));
        }
        Ok(tensors)
    }

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

fn table(from: &mut impl Read) -> io::Result<Tensors> {
    let mut start = [0; 4];
    from.read_exact(&mut start)?;
    if start == gguf::MAGIC {
        return gguf::read(from);
    }
    let mut rest = [0; 4];
    from.read_exact(&mut rest)?;
    let length = u64::from(u32::from_le_bytes(start)) | u64::from(u32::from_le_bytes(rest)) << 32;
    safetensors::read(length, from)
}

/// What is wrong with a file.
pub fn bad(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_do_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..400), is_gguf: bool) {
            if is_gguf && bytes.len() >= 24 {
                bytes[..4].copy_from_slice(gguf::MAGIC);
                bytes[4..8].copy_from_slice(&3u32.to_le_bytes());
                bytes[9..16].fill(0);
                bytes[17..24].fill(0);
            }
            let _ = table(&mut bytes.as_slice());
        }
    }
}
