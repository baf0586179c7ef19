//! Results to the files of a directory.

use std::path::Path;

use pagemill_report::{
    OutputDir, OutputDirError, ResultSet, csv, html, json, pages, parquet, sarif,
};

/// Replaces the directory `out` by the files of `set`.
///
/// # Errors
/// The directory holds anything but results, or the file system refuses; it is then what it was before.
pub fn write_results(out: &Path, set: &ResultSet) -> Result<(), OutputDirError> {
    stage_results(out, set).and_then(OutputDir::commit)
}

/// The files of `set`, to which others may be added before they replace the directory `out`.
///
/// # Errors
/// As [`write_results`].
pub fn stage_results(out: &Path, set: &ResultSet) -> Result<OutputDir, OutputDirError> {
    let mut files = OutputDir::stage(out)?;
    files.write("results.json", |file| json::write(set, file))?;
    files.write("results.csv", |file| csv::write(set, file))?;
    files.write("results.parquet", |file| parquet::write(set, file))?;
    files.write("report.html", |file| html::write(set, file))?;
    if !set.maps.is_empty() {
        files.write(pages::FILE, |file| pages::write(&set.maps, file))?;
    }
    if sarif::applies(set) {
        let root = std::env::current_dir().unwrap_or_default();
        files.write(sarif::FILE, |file| sarif::write(set, &root, file))?;
    }
    Ok(files)
}
