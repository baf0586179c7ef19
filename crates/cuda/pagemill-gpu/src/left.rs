//! Files that processes leave in a folder when they end, one each: `NAME-PID.json`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes that of `process`, under another name first: a file of the right name is whole.
pub fn write(folder: &Path, name: &str, process: u32, value: &impl Serialize) -> io::Result<()> {
    let whole = folder.join(format!("{name}-{process}.json"));
    let unfinished = whole.with_extension("unfinished");
    let mut file = BufWriter::new(File::create(&unfinished)?);
    serde_json::to_writer(&mut file, value)?;
    file.flush()?;
    std::fs::rename(unfinished, whole)
}

/// Those in `folder` with their processes, the earliest first; `version` tells the version of one, and the one to expect.
pub fn read_all<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    version: impl Fn(&T) -> (u32, u32),
) -> Result<Vec<(u32, T)>, String> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|error| told(folder, &error))?;
    let mut all = Vec::new();
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let Some(process) = process_of(&path, name) else {
            continue;
        };
        let text = std::fs::read(&path).map_err(|error| told(&path, &error))?;
        let value = serde_json::from_slice(&text).map_err(|error| told(&path, &error))?;
        let (found, known) = version(&value);
        if found != known {
            let error = format!("its version is {found}, and this command's {known}");
            return Err(told(&path, &error));
        }
        all.push((process, value));
    }
    all.sort_by_key(|(process, _)| *process);
    Ok(all)
}

/// The process whose file of this name it is.
fn process_of(path: &Path, name: &str) -> Option<u32> {
    let own = path.file_name()?.to_str()?.strip_prefix(name)?;
    own.strip_prefix('-')?.strip_suffix(".json")?.parse().ok()
}
