//! CUDA sources of the repository, and the PTX committed beside them.
//!
//! A source may open with comment lines `// arch: compute_80` (default `compute_75`) and `// nvcc: --flag ...`.
//! The PTX opens with one line that says what it was made of, so that a stale file is found without a compiler.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cuda::Nvcc;
use crate::tally::Tally;
use crate::workspace;

const DEFAULT_ARCH: &str = "compute_75";
const BUILT_BY: &str = "// Built by `cargo xtask workloads` from ";

/// A CUDA source and what it asks of the compiler.
struct Source {
    path: PathBuf,
    /// Of the source and the headers beside it that it includes.
    digest: u64,
    arch: String,
    flags: Vec<String>,
}

impl Source {
    fn read(path: PathBuf) -> Result<Self> {
        let mut text = read(&path)?;
        let arch = leading_comment(&text, "arch:")
            .unwrap_or(DEFAULT_ARCH)
            .to_owned();
        let flags = leading_comment(&text, "nvcc:").unwrap_or_default();
        let flags = flags.split_whitespace().map(str::to_owned).collect();
        let mut headers = local_headers(&path, &text);
        let mut next = 0;
        while let Some(header) = headers.get(next).cloned() {
            let header_text = read(&header)?;
            for nested in local_headers(&header, &header_text) {
                if !headers.contains(&nested) {
                    headers.push(nested);
                }
            }
            text.push_str(&header_text);
            next += 1;
        }
        Ok(Self {
            path,
            digest: fnv1a(text.as_bytes()),
            arch,
            flags,
        })
    }

    fn name(&self) -> String {
        workspace::relative(&self.path).display().to_string()
    }

    fn ptx_path(&self) -> PathBuf {
        self.path.with_extension("ptx")
    }

    /// First line of the PTX made of this source.
    fn header(&self) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (digest, version) = (self.digest, Nvcc::version());
        format!("{BUILT_BY}{file} (source {digest:016x}, nvcc {version}). Do not edit.")
    }

    fn build(&self, nvcc: &Nvcc) -> Result<String> {
        let ptx = nvcc.ptx(&self.path, &self.arch, &self.flags)?;
        let folder = self.path.parent().context("a source lies in a folder")?;
        Ok(format!("{}\n{}", self.header(), normalized(&ptx, folder)))
    }

    fn compare(&self, built: &str) -> Result<()> {
        let committed = self.committed()?;
        let differing = built
            .lines()
            .zip(committed.lines())
            .position(|(new, old)| new != old);
        match differing {
            Some(index) => bail!(
                "line {} of {} is not what nvcc makes of {}; run `cargo xtask workloads`",
                index + 1,
                workspace::relative(&self.ptx_path()).display(),
                self.name()
            ),
            None if built.len() != committed.len() => {
                bail!("the PTX of {} is cut short or continued", self.name())
            }
            None => Ok(()),
        }
    }

    fn committed(&self) -> Result<String> {
        let path = self.ptx_path();
        std::fs::read_to_string(&path).with_context(|| {
            format!(
                "{} cannot be read; run `cargo xtask workloads`",
                workspace::relative(&path).display()
            )
        })
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The files beside `path` that its `text` includes by a quoted name.
fn local_headers(path: &Path, text: &str) -> Vec<PathBuf> {
    let quoted = text.lines().filter_map(|line| {
        line.trim_start()
            .strip_prefix("#include \"")?
            .split('"')
            .next()
    });
    let mut headers: Vec<PathBuf> = quoted
        .map(|name| path.with_file_name(name))
        .filter(|path| path.is_file())
        .collect();
    headers.sort();
    headers.dedup();
    headers
}

/// The rest of the leading `//` line that starts with `key`.
fn leading_comment<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let comments = text.lines().map_while(|line| line.strip_prefix("//"));
    comments
        .filter_map(|line| line.trim().strip_prefix(key))
        .map(str::trim)
        .next()
}

/// 64-bit FNV-1a: distinguishes an edited source from the one a file was made of.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// `ptx` without what differs from one machine to the next: the build identifier, the folder of the source, and the
/// hash of that folder in the names of file-local symbols.
fn normalized(ptx: &str, folder: &Path) -> String {
    let folder = format!("{}/", folder.display());
    let mut text = String::with_capacity(ptx.len());
    for line in ptx
        .lines()
        .filter(|line| !line.starts_with("// Compiler Build ID:"))
    {
        let line = line.replace(&folder, "");
        let line = blank_hash_after(&line, "_INTERNAL_");
        text.push_str(blank_hash_after(&line, "_GLOBAL__N__").trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// `line` with the eight hexadecimal digits after each `marker` made zeros.
fn blank_hash_after(line: &str, marker: &str) -> String {
    const DIGITS: usize = 8;
    let mut pieces = line.split(marker);
    let mut blanked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_hexdigit).count();
        blanked.push_str(marker);
        if digits >= DIGITS {
            blanked.push_str(&"0".repeat(DIGITS));
            blanked.push_str(&piece[DIGITS..]);
        } else {
            blanked.push_str(piece);
        }
    }
    blanked
}

/// Folders of CUDA sources.
fn folders() -> Result<Vec<PathBuf>> {
    let mut folders = workspace::entries(&workspace::root().join("workloads"))?;
    folders.push(workspace::root().join("crates/cuda/pagemill-ptx/tests/kernels"));
    Ok(folders)
}

fn files(folders: &[PathBuf], extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in folders {
        let entries = workspace::entries(folder)?.into_iter();
        files.extend(entries.filter(|path| path.extension().is_some_and(|own| own == extension)));
    }
    Ok(files)
}

fn sources_in(folders: &[PathBuf]) -> Result<Vec<Source>> {
    let files = files(folders, "cu")?.into_iter();
    files.map(Source::read).collect()
}

fn sources(filter: Option<&str>) -> Result<Vec<Source>> {
    let mut wanted = sources_in(&folders()?)?;
    wanted.retain(|source| filter.is_none_or(|filter| source.name().contains(filter)));
    if let (Some(filter), true) = (filter, wanted.is_empty()) {
        bail!("no CUDA source has {filter:?} in its path");
    }
    Ok(wanted)
}

/// Builds every source, as many at a time as there are cores; the outcomes are in the order of the sources.
fn build_all(sources: &[Source]) -> Result<Vec<Result<String>>> {
    let nvcc = Nvcc::provide()?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let per_worker = sources.len().div_ceil(workers).max(1);
    let build = |source: &Source| {
        source
            .build(&nvcc)
            .with_context(|| format!("cannot build {}", source.name()))
    };
    let built = std::thread::scope(|scope| {
        let chunks = sources.chunks(per_worker);
        let running: Vec<_> = chunks
            .map(|chunk| scope.spawn(move || chunk.iter().map(build).collect::<Vec<_>>()))
            .collect();
        let finished = running
            .into_iter()
            .map(|worker| worker.join().expect("a worker does not panic"));
        finished.flatten().collect()
    });
    Ok(built)
}

/// Rebuilds the PTX of every source whose path contains `filter`.
pub fn rebuild(filter: Option<&str>) -> Result<()> {
    let sources = sources(filter)?;
    let mut changed = 0;
    for (source, ptx) in sources.iter().zip(build_all(&sources)?) {
        let (ptx, path) = (ptx?, source.ptx_path());
        let is_same = std::fs::read_to_string(&path).is_ok_and(|committed| committed == ptx);
        if !is_same {
            std::fs::write(&path, ptx)
                .with_context(|| format!("cannot write {}", path.display()))?;
            println!("{}", workspace::relative(&path).display());
            changed += 1;
        }
    }
    println!("{} built, {changed} changed", sources.len());
    Ok(())
}

/// Builds every source whose path contains `filter` and compares with the committed PTX.
pub fn compare(filter: Option<&str>) -> Result<Tally> {
    let mut tally = Tally::default();
    let sources = sources(filter)?;
    if sources.is_empty() {
        return Ok(tally);
    }
    for (source, built) in sources.iter().zip(build_all(&sources)?) {
        tally.check(&format!("ptx of {}", source.name()), || {
            source.compare(&built?)
        });
    }
    Ok(tally)
}

/// Without a compiler: every source has PTX that names its present text, and no built PTX has lost its source.
pub fn check_freshness() -> Result<()> {
    let stale = stale(&folders()?)?;
    if !stale.is_empty() {
        bail!("run `cargo xtask workloads`:\n{}", stale.join("\n"));
    }
    Ok(())
}

fn stale(folders: &[PathBuf]) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for source in sources_in(folders)? {
        let first = source
            .committed()
            .ok()
            .and_then(|ptx| ptx.lines().next().map(str::to_owned));
        if first != Some(source.header()) {
            stale.push(format!(
                "  the PTX of {} is missing or older than it",
                source.name()
            ));
        }
    }
    for ptx in files(folders, "ptx")? {
        let orphan = !ptx.with_extension("cu").is_file();
        let text = std::fs::read_to_string(&ptx)
            .with_context(|| format!("cannot read {}", ptx.display()))?;
        if orphan && text.starts_with(BUILT_BY) {
            stale.push(format!(
                "  {} has lost its source",
                workspace::relative(&ptx).display()
            ));
        }
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_says_what_it_needs() {
        let text =
            "// arch: compute_80\n// nvcc: --fmad=false -DN=4\n// Prose.\n\n// arch: compute_90\n";
        assert_eq!(leading_comment(text, "arch:"), Some("compute_80"));
        assert_eq!(leading_comment(text, "nvcc:"), Some("--fmad=false -DN=4"));
        assert_eq!(leading_comment("\n// arch: compute_90\n", "arch:"), None);
    }

    #[test]
    fn nothing_of_the_machine_stays_in_the_ptx() {
        let ptx = "//\n// Compiler Build ID: CL-1\n.file 1 \"/somewhere/k/a.cu\"  \n\
            mov.u64 %rd4, _ZN27_INTERNAL_065662e6_4_s_cu_k29_GLOBAL__N__80c21048_4_s_cu_k6hiddenE;\n\n\n";
        let expected = "//\n.file 1 \"a.cu\"\n\
            mov.u64 %rd4, _ZN27_INTERNAL_00000000_4_s_cu_k29_GLOBAL__N__00000000_4_s_cu_k6hiddenE;\n";
        assert_eq!(normalized(ptx, Path::new("/somewhere/k")), expected);
        assert_eq!(normalized(expected, Path::new("/elsewhere")), expected);
    }

    #[test]
    fn names_that_only_look_hashed_stay() {
        assert_eq!(
            blank_hash_after("x_INTERNAL_é1", "_INTERNAL_"),
            "x_INTERNAL_é1"
        );
        assert_eq!(blank_hash_after("x_INTERNAL_", "_INTERNAL_"), "x_INTERNAL_");
    }

    #[test]
    fn headers_beside_a_source_are_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let source = put(
            "a.cu",
            "#include <cstdio>\n#include \"a.cuh\"\n#include \"elsewhere.h\"\n",
        );
        put("a.cuh", "#include \"b.cuh\"\n");
        put("b.cuh", "#include \"a.cuh\"\nint b;\n");
        let before = Source::read(source.clone()).unwrap().digest;
        assert_eq!(before, Source::read(source.clone()).unwrap().digest);
        put("b.cuh", "#include \"a.cuh\"\nint c;\n");
        assert_ne!(before, Source::read(source).unwrap().digest);
    }

    #[test]
    fn stale_and_orphaned_ptx_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cu");
        let stale = || stale(&[folder.path().to_owned()]).unwrap().len();
        std::fs::write(&path, "__global__ void a() {}\n").unwrap();
        assert_eq!(stale(), 1);
        let ptx = Source::read(path.clone()).unwrap().header();
        std::fs::write(path.with_extension("ptx"), ptx).unwrap();
        assert_eq!(stale(), 0);
        std::fs::write(&path, "__global__ void b() {}\n").unwrap();
        assert_eq!(stale(), 1);
        std::fs::remove_file(path).unwrap();
        assert_eq!(stale(), 1);
    }

    #[test]
    fn an_edit_changes_the_digest() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_ne!(fnv1a(b"ab"), fnv1a(b"ba"));
    }
}
