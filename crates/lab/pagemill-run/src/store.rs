//! The folder of a sweep: a file for each point that was run, and the results of all.
//!
//! ```text
//! DIR/parts/<digest>-<build>.parquet    the rows of one point
//! DIR/results/                          what `pagemill run --out` writes, once every point is there
//! ```
//!
//! A point's file is named by what the point is and by the build that ran it ([`BUILD`]), and appears at once by renaming: it is
//! there or not, never twice and never half, with any number of writers. Files of other builds are left alone, and not used.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pagemill_report::{OutputDirError, ResultSet, Row, parquet};
use pagemill_scenario::Point;

use crate::files::write_results;

/// Distinguishes the results of this build from those of other sources of the same version: 16 hexadecimal digits, a digest of all
/// sources that results depend on.
pub const BUILD: &str = env!("PAGEMILL_BUILD");

const PARTS: &str = "parts";
const RESULTS: &str = "results";
/// How a part begins while it is written.
const UNFINISHED: &str = ".part-";
/// Another sweep of the same folder that ends removes what is unfinished; it does so once.
const WRITES_MAX: u32 = 3;

/// Why a point or the results could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds no rows.
    #[error("{path} is damaged ({source}): remove it and run the sweep again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The results could not be put in place.
    #[error(transparent)]
    Results(#[from] OutputDirError),
}

/// The folder of a sweep.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens `folder`, or makes it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let parts = folder.join(PARTS);
        fs::create_dir_all(&parts).map_err(failed("make", &parts))?;
        Ok(Self {
            folder: folder.to_path_buf(),
        })
    }

    /// Where the results are at the end.
    pub fn results_folder(&self) -> PathBuf {
        self.folder.join(RESULTS)
    }

    fn part(&self, point: &Point) -> PathBuf {
        self.folder
            .join(PARTS)
            .join(format!("{}-{BUILD}.parquet", point.digest))
    }

    /// How many of `points` have files of other builds only.
    pub fn of_other_builds(&self, points: &[Point]) -> usize {
        let entries = fs::read_dir(self.folder.join(PARTS)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let digest = |name: OsString| Some(name.to_str()?.split_once('-')?.0.to_owned());
        let digests: BTreeSet<String> = names.filter_map(digest).collect();
        let is_elsewhere =
            |point: &&Point| digests.contains(&point.digest) && !self.part(point).exists();
        points.iter().filter(is_elsewhere).count()
    }

    /// Places of the points that have no file, or a damaged one.
    pub fn missing(&self, points: &[Point]) -> Vec<usize> {
        let is_missing = |point: &&Point| self.read(point).is_err();
        let missing = points.iter().filter(is_missing);
        missing.map(|point| point.index).collect()
    }

    /// Keeps `part`, a file of [`parquet::write_rows`], as the rows of `point`.
    ///
    /// # Errors
    /// `part` holds no rows, or the file system refuses.
    pub fn put(&self, point: &Point, part: &[u8]) -> Result<(), StoreError> {
        let path = self.part(point);
        parquet::read_rows(part.to_vec()).map_err(damaged(&path))?;
        let mut written = self.write_part(&path, part);
        for _ in 1..WRITES_MAX {
            let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            if !written.as_ref().is_err_and(is_gone) {
                break;
            }
            written = self.write_part(&path, part);
        }
        written.map_err(failed("write", &path))
    }

    fn write_part(&self, path: &Path, part: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(self.folder.join(PARTS))?;
        file.write_all(part)?;
        file.as_file().sync_data()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Keeps `rows` as those of `point`.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub fn put_rows(&self, point: &Point, rows: &[Row]) -> Result<(), StoreError> {
        let part = parquet::write_rows(rows).map_err(damaged(&self.part(point)))?;
        self.put(point, &part)
    }

    fn read(&self, point: &Point) -> Result<Vec<Row>, StoreError> {
        let path = self.part(point);
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        parquet::read_rows(bytes).map_err(damaged(&path))
    }

    /// The rows of all points, in their order.
    ///
    /// # Errors
    /// A point has no file, or a damaged one.
    pub fn rows(&self, points: &[Point]) -> Result<Vec<Row>, StoreError> {
        let parts = points.iter().map(|point| self.read(point));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Writes the results of all points, makes sure that their parts are on the disk, and removes what killed workers left
    /// unfinished.
    ///
    /// # Errors
    /// The file system refuses, or the results folder holds something else.
    pub fn write_results(&self, set: &ResultSet) -> Result<(), StoreError> {
        let parts = self.folder.join(PARTS);
        remove_unfinished(&parts).map_err(failed("tidy", &parts))?;
        File::open(&parts)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("write", &parts))?;
        Ok(write_results(&self.results_folder(), set)?)
    }
}

fn remove_unfinished(parts: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parts)? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes())
        {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Io {
        action,
        path,
        source,
    }
}

fn damaged(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Damaged { path, source }
}
