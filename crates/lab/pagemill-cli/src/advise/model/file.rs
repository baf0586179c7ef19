//! The files of a model, of either format, to one table of tensors.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use pagemill_trace::Compression;
use serde_json::Value;

use super::tensors::{Tensors, bad};
use super::{gguf, safetensors};
use crate::failure::Failure;

/// What the name of an index of safetensors ends with.
const INDEX: &str = ".index.json";

/// Reads the tables of the model at `path`, of all its parts, and nothing behind them.
pub fn read(path: &Path) -> Result<Tensors, Failure> {
    let named = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::Usage(format!("{}: {error}", path.display()))
    };
    let parts = parts(path).map_err(|error| named(path, &error))?;
    let mut model = Tensors::default();
    for (number, part) in parts.iter().enumerate() {
        let read = part_at(part, number, parts.len()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if parts.len() > 1 => named(
                part,
                &format!(
                    "part {} of {} is missing: fetch it into the same folder",
                    number + 1,
                    parts.len()
                ),
            ),
            io::ErrorKind::UnexpectedEof => {
                named(part, &"it ends within the table of tensors: fetch it again")
            }
            _ => named(part, &error),
        })?;
        model.add(read);
    }
    let checked = add_config(path, &mut model).and_then(|()| model.check());
    checked.map_err(|error| named(path, &error))?;
    check_count(&model).map_err(|error| named(path, &error))?;
    Ok(model)
}

/// All files of the model that `path` belongs to, in order.
fn parts(path: &Path) -> io::Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(INDEX) {
        return indexed(path);
    }
    Ok(numbered(&name).map_or_else(
        || vec![path.to_owned()],
        |names| names.iter().map(|name| path.with_file_name(name)).collect(),
    ))
}

/// The files that an index of safetensors names.
fn indexed(path: &Path) -> io::Result<Vec<PathBuf>> {
    let index: Value = serde_json::from_reader(BufReader::new(File::open(path)?))
        .map_err(|error| bad(format!("it is no index of safetensors: {error}")))?;
    let map = index["weight_map"].as_object();
    let map =
        map.ok_or_else(|| bad("it is no index of safetensors: it has no weight_map".to_owned()))?;
    let names: Option<BTreeSet<&str>> = map.values().map(Value::as_str).collect();
    let names = names.ok_or_else(|| bad("its weight_map has a file that is no text".to_owned()))?;
    Ok(names
        .into_iter()
        .map(|name| path.with_file_name(name))
        .collect())
}

/// The names of all parts where `name` is that of one, as `model-00002-of-00003.gguf`.
fn numbered(name: &str) -> Option<Vec<String>> {
    let (stem, extension) = name.rsplit_once('.')?;
    let (stem, count) = stem.rsplit_once("-of-")?;
    let (stem, number) = stem.rsplit_once('-')?;
    let digits = count.len();
    let (number, count) = (number_of(number, digits)?, number_of(count, digits)?);
    if !(1..=count).contains(&number) {
        return None;
    }
    Some(
        (1..=count)
            .map(|number| format!("{stem}-{number:0digits$}-of-{count:0digits$}.{extension}"))
            .collect(),
    )
}

fn number_of(text: &str, digits: usize) -> Option<u32> {
    let is_number = (1..=5).contains(&digits)
        && text.len() == digits
        && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Reads the table of a file, which is the part with this number, from 0, of so many.
fn part_at(path: &Path, number: usize, count: usize) -> io::Result<Tensors> {
    let file = File::open(path)?;
    let file_bytes = file.metadata()?.len();
    let tensors = table(&mut BufReader::new(file), file_bytes)?;
    let fact = |key: &str, default| tensors.facts.get(key).copied().unwrap_or(default);
    let (split, place) = (fact("split.count", 1), fact("split.no", number as u64));
    // A file that has no word of parts is one.
    if split > 1 && (split, place) != (count as u64, number as u64) {
        return Err(bad(format!(
            "it is part {} of {split} of a model, but not by its name: call the parts MODEL-00001-of-{split:05}.gguf and so on, \
             or join them with `llama-gguf-split --merge FIRST-PART MODEL.gguf`",
            place.saturating_add(1),
        )));
    }
    Ok(tensors)
}

/// Adds what `config.json` beside safetensors says: the files themselves say nothing of experts.
fn add_config(path: &Path, model: &mut Tensors) -> io::Result<()> {
    let config = path.with_file_name("config.json");
    if path
        .extension()
        .is_some_and(|extension| extension == "gguf")
        || !config.is_file()
    {
        return Ok(());
    }
    let config: Value = serde_json::from_reader(BufReader::new(File::open(config)?))
        .map_err(|error| bad(format!("config.json beside it is no JSON: {error}")))?;
    safetensors::add_facts(&mut model.facts, "", &config);
    Ok(())
}

/// Refuses a split GGUF with other tensors than it announces.
fn check_count(model: &Tensors) -> io::Result<()> {
    match model.facts.get("split.tensors.count") {
        Some(count) if *count != model.all.len() as u64 => Err(bad(format!(
            "its parts have {} tensors, but split.tensors.count = {count}: parts of two models are mixed, or one is damaged",
            model.all.len()
        ))),
        _ => Ok(()),
    }
}

fn table(from: &mut impl Read, file_bytes: u64) -> io::Result<Tensors> {
    let mut start = [0; 8];
    from.read_exact(&mut start[..4])?;
    let is_gguf = start.starts_with(gguf::MAGIC);
    let tensors = if is_gguf {
        gguf::read(from)?
    } else {
        from.read_exact(&mut start[4..])?;
        if let Some(Compression { name, command }) = Compression::of(&start) {
            return Err(bad(format!(
                "it is compressed by {name}: unpack it with `{command} FILE`"
            )));
        }
        safetensors::read(u64::from_le_bytes(start), from)?
    };
    tensors.check_places()?;
    let end = tensors.end_bytes;
    if end > file_bytes {
        return Err(bad(format!(
            "its tensors end at byte {end}, but it has {file_bytes}: fetch it again"
        )));
    }
    if end < file_bytes && !is_gguf {
        return Err(bad(format!(
            "its tensors end at byte {end}, and {} bytes follow: it is damaged",
            file_bytes - end
        )));
    }
    Ok(tensors)
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
            let _ = table(&mut bytes.as_slice(), u64::MAX);
        }
    }
}
