//! Which CUPTI: the one of the release of CUDA that the program uses, where that can be seen.

use std::ffi::{CStr, CString, c_int, c_void};
use std::path::{Path, PathBuf};

use super::cupti::Cupti;
use super::layout;

const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// A CUPTI whose records are known, and its version.
///
/// # Errors
/// Why none of those that were found will do, or that none was found, with what to do about it.
pub fn open() -> Result<(Cupti, u32), String> {
    if let Some(named) = std::env::var_os("PAGEMILL_CUPTI") {
        return load(Path::new(&named), libc::RTLD_NOW).and_then(usable);
    }
    // The program's own: a second one would be in its way.
    let own = NAMES
        .iter()
        .find_map(|name| load(Path::new(name), libc::RTLD_NOW | libc::RTLD_NOLOAD).ok());
    if let Some(handle) = own {
        return usable(handle);
    }
    let mut refused = Vec::new();
    for path in candidates() {
        let Ok(handle) = load(&path, libc::RTLD_NOW) else {
            continue;
        };
        match usable(handle) {
            Ok(found) => return Ok(found),
            Err(why) => refused.push(format!("{}: {why}", path.display())),
        }
    }
    if refused.is_empty() {
        refused.push(format!(
            "there is no {}: install NVIDIA's Python package nvidia-cuda-cupti or CUDA's toolkit, and name the file in PAGEMILL_CUPTI",
            NAMES.join(", ")
        ));
    }
    Err(refused.join("; "))
}

fn usable(handle: *mut c_void) -> Result<(Cupti, u32), String> {
    let cupti = Cupti::of(handle)?;
    let version = cupti.version()?;
    layout::check(version)?;
    Ok((cupti, version))
}

fn load(path: &Path, flags: c_int) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| "PAGEMILL_CUPTI has a zero byte".to_owned())?;
    // SAFETY: the name ends with a zero byte. What CUPTI does when it is loaded is what the user asked for.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the text of this thread's last failure, which is null or a string until the next call.
    let said = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Err(said.unwrap_or_else(|| format!("{} cannot be loaded", path.display())))
}

/// Files to try, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let neighbor = neighbor();
    let release = neighbor.as_deref().and_then(Path::extension);
    let mut names = NAMES;
    names.sort_by_key(|name| Path::new(name).extension() != release);
    let beside = neighbor.as_deref().and_then(Path::parent);
    let toolkits = [
        std::env::var_os("CUDA_HOME"),
        Some("/usr/local/cuda".into()),
    ];
    let toolkits = toolkits.into_iter().flatten().map(PathBuf::from);
    let folders = beside
        .map(|folder| {
            // Beside it, in its toolkit, and in the packages of CUDA 12, which have a folder each.
            let around = ["", "../extras/CUPTI/lib64", "../../cuda_cupti/lib"];
            around.map(|place| folder.join(place))
        })
        .into_iter()
        .flatten()
        .chain(toolkits.map(|toolkit| toolkit.join("extras/CUPTI/lib64")))
        // The linker's own search.
        .chain([PathBuf::new()]);
    folders
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .collect()
}

/// A library of CUDA's release that the program has loaded, as `NAME.so.MAJOR`.
fn neighbor() -> Option<PathBuf> {
    // Programs may have the runtime inside them, and load another of these.
    const NAMES: [&str; 3] = ["libcudart", "libcublas", "libnvrtc"];
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    paths.find_map(|path| {
        // A mapping has the name behind all links: libcudart.so.12.9.79.
        let mut parts = path.file_name()?.to_str()?.split('.');
        let name = parts.next().filter(|name| NAMES.contains(name))?;
        let major = parts.nth(1).unwrap_or_default();
        Some(path.with_file_name(format!("{name}.so.{major}")))
    })
}
