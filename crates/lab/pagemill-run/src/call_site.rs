//! Addresses of the program as lines of its source.

use std::collections::BTreeMap;
use std::path::Path;

use addr2line::Loader;
use pagemill_wire::{Frame, Stack};

/// Parts of the paths of headers that programs call through.
const HEADERS: [&str; 7] = [
    "cuda_runtime",
    "/crt/",
    "/thrust/",
    "/cub/",
    "/cuda/std/",
    "/c++/",
    ".cudafe1.stub.c",
];
/// Beginnings of the names of functions that programs call through.
const BORDERS: [&str; 3] = ["cudaMalloc", "cudaLaunch", "__device_stub_"];
/// Bytes of an ELF header up to and with the type of the file.
const ELF_TYPE: usize = 16;
/// A file that is loaded where it says.
const ELF_FIXED: u8 = 2;

/// A place in the source of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function, if it is known.
    pub function: Option<String>,
    /// File and line, or the file of the executable and the offset in it.
    pub at: String,
}

/// The files of a program, read when they are needed.
#[derive(Default)]
pub struct Symbols {
    files: BTreeMap<String, Option<Module>>,
}

struct Module {
    loader: Loader,
    is_fixed: bool,
}

impl Symbols {
    /// The lines that a stack stands for, the innermost first, without those of CUDA's headers and of the functions `passed`.
    pub fn places(&mut self, stack: &Stack, passed: &[&str]) -> Vec<Place> {
        let frames = stack.frames.iter();
        frames
            .flat_map(|frame| self.places_of(frame, passed))
            .collect()
    }

    fn places_of(&mut self, frame: &Frame, passed: &[&str]) -> Vec<Place> {
        let file = file_name(&frame.module);
        if file.starts_with("libc.so") {
            return Vec::new();
        }
        // Of the call, not of what comes after it.
        let offset = frame.address.wrapping_sub(frame.base).wrapping_sub(1);
        let module = self
            .files
            .entry(frame.module.clone())
            .or_insert_with(|| Module::open(Path::new(&frame.module)));
        let Some(module) = module else {
            return vec![unknown(None, &file, offset)];
        };
        let probe = match module.is_fixed {
            true => frame.address.wrapping_sub(1),
            false => offset,
        };
        let lines = module.lines(probe);
        if lines.is_empty() {
            let symbol = module.loader.find_symbol(probe).map(readable);
            let place = unknown(symbol, &file, offset);
            return Some(place)
                .filter(|place| is_own(place, "", passed))
                .into_iter()
                .collect();
        }
        let own = lines
            .into_iter()
            .filter(|(place, path)| is_own(place, path, passed));
        own.map(|(place, _)| place).collect()
    }
}

impl Module {
    fn open(path: &Path) -> Option<Self> {
        use std::io::Read;
        let mut header = [0; ELF_TYPE + 1];
        std::fs::File::open(path)
            .and_then(|mut file| file.read_exact(&mut header))
            .ok()?;
        Some(Self {
            loader: Loader::new(path).ok()?,
            is_fixed: header[ELF_TYPE] == ELF_FIXED,
        })
    }

    /// The lines at an address, inlined calls first, each with the path of its file.
    fn lines(&self, probe: u64) -> Vec<(Place, String)> {
        let mut lines = Vec::new();
        let Ok(mut frames) = self.loader.find_frames(probe) else {
            return lines;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref();
            let function = function
                .and_then(|name| name.raw_name().ok())
                .map(|name| readable(&name));
            let Some(location) = frame.location else {
                continue;
            };
            if let (Some(path), Some(line)) = (location.file, location.line) {
                let at = format!("{}:{line}", file_name(path));
                lines.push((Place { function, at }, path.to_owned()));
            }
        }
        lines
    }
}

fn readable(name: &str) -> String {
    pagemill_wire::readable_name(name)
}

fn unknown(function: Option<String>, file: &str, offset: u64) -> Place {
    Place {
        function,
        at: format!("{file}+{offset:#x}"),
    }
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Whether a place is one that the author of the program knows.
fn is_own(place: &Place, path: &str, passed: &[&str]) -> bool {
    let function = place.function.as_deref().unwrap_or("");
    let is_border = BORDERS.iter().any(|border| function.starts_with(border));
    let in_header = HEADERS.iter().any(|header| path.contains(header));
    let is_start = matches!(
        function,
        "_start" | "__libc_start_main" | "__libc_start_call_main"
    );
    !is_border && !in_header && !is_start && !passed.contains(&function)
}

#[cfg(test)]
mod tests;
