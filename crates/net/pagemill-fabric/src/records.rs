//! What a process leaves in files at its end.

use std::path::PathBuf;

use crate::compute::Compute;
use crate::station::Station;

/// Where it writes; nothing where a record is not wished.
#[derive(Debug, Default)]
pub struct Files {
    /// The charges for computing.
    pub compute: Option<PathBuf>,
    /// The events of its station.
    pub events: Option<PathBuf>,
    /// The map of its translation table.
    pub table: Option<PathBuf>,
}

impl Files {
    /// Writes all that is wished.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, station: &mut Station, compute: &Compute) -> std::io::Result<()> {
        let charges = compute.record(station.index()).into_bytes();
        write_whole(&self.compute, Some(charges))?;
        let events = station.events();
        write_whole(
            &self.events,
            events.map(|events| events.text().into_bytes()),
        )?;
        write_whole(&self.table, station.take_table_map())
    }
}

/// Writes a record into its file, if both are wished, which is whole afterwards or not there: a part would be one of another run.
fn write_whole(path: &Option<PathBuf>, record: Option<Vec<u8>>) -> std::io::Result<()> {
    let (Some(path), Some(bytes)) = (path, record) else {
        return Ok(());
    };
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let written = std::fs::write(&part, &bytes).and_then(|()| std::fs::rename(&part, path));
    written.inspect_err(|_| {
        // It may not be there, and the first error is the one that counts.
        let _ = std::fs::remove_file(&part);
    })
}
