//! A file of either format to its table of tensors.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::tensors::{EXPERTS, Tensors};
use super::{gguf, safetensors};
use crate::failure::Failure;

/// Reads the table of the model at `path`, and nothing behind it.
pub fn read(path: &Path) -> Result<Tensors, Failure> {
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
