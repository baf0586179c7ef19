use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use pagemill_gpu::{GpuFacts, show_bytes};
use pagemill_zero_client as zero;

/// The machine as the probes see it: files under a root, and the search paths of this process.
/// Probes read, and change nothing.
pub struct System {
    root: PathBuf,
    programs: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    /// Whether this is the machine that the process runs on, so that its drivers can be asked.
    is_this: bool,
}

impl System {
    /// The machine this process runs on.
    pub fn this() -> Self {
        let variable = |name| std::env::var_os(name).unwrap_or_default();
        let system = Self::at(
            Path::new("/"),
            &variable("PATH"),
            &variable("LD_LIBRARY_PATH"),
        );
        Self {
            is_this: true,
            ..system
        }
    }

    /// A machine whose files lie under `root`.
    pub fn at(root: &Path, programs: &OsStr, libraries: &OsStr) -> Self {
        let mut system = Self {
            root: root.to_path_buf(),
            programs: std::env::split_paths(programs).collect(),
            libraries: std::env::split_paths(libraries).collect(),
            is_this: false,
        };
        system.libraries.extend(system.linker_folders());
        system
    }

    /// A path of this machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether there is something at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The text of a small file, trimmed.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// The number that a small file holds.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Names in a folder, sorted; none where there is no such folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        names_in(&self.path(folder))
    }

    /// The path of a program that a shell would find.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
    }

    /// The file that `name`, such as `libcuda.so.1`, leads to, where the dynamic linker would look.
    pub fn library(&self, name: &str) -> Option<PathBuf> {
        let found = self
            .libraries
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.exists())?;
        Some(fs::canonicalize(&found).unwrap_or(found))
    }

    /// Whether a program may open `path` for reading and writing. Opening a device file starts nothing.
    pub fn can_open(&self, path: &str) -> bool {
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path(path))
            .is_ok()
    }

    /// Whether the kernel lets this process answer the page faults of system calls. `None` for a machine that is only files.
    pub fn answers_faults(&self) -> Option<bool> {
        self.is_this
            .then(|| pagemill_linux::userfault::FaultWatch::open().is_ok())
    }

    /// What the CUDA driver says of each GPU, or why there is none. `None` for a machine that is only files.
    pub fn gpus(&self) -> Option<Result<Vec<String>, String>> {
        if !self.is_this {
            return None;
        }
        let shown = |gpu: GpuFacts| {
            let (major, minor) = gpu.driver_cuda;
            let faults = if gpu.has_faults {
                ""
            } else {
                ", without page faults"
            };
            format!(
                "{}, {}, driver for CUDA {major}.{minor}{faults}",
                gpu.name,
                show_bytes(gpu.total_bytes)
            )
        };
        let probed = pagemill_gpu::probe().map_err(|error| error.to_string());
        Some(probed.map(|gpus| gpus.into_iter().map(shown).collect()))
    }

    /// How the pool of huge pages stands, or why it cannot be asked.
    pub fn zero_pool(&self) -> Result<zero::protocol::Status, String> {
        let socket = zero::socket_path();
        if !self.is_this {
            return Err("a machine that is only files serves no pool".to_owned());
        }
        let status = zero::Client::connect(&socket).and_then(|mut pool| pool.status());
        status.map_err(|_| format!("no daemon serves a pool at {}", socket.display()))
    }

    /// The kernel's release, such as `6.12.0-amd64`.
    pub fn kernel_release(&self) -> Option<String> {
        self.text("/proc/sys/kernel/osrelease")
    }

    fn linker_folders(&self) -> Vec<PathBuf> {
        let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
        let mut folders = Vec::new();
        for file in self.names("/etc/ld.so.conf.d") {
            let text = self
                .text(&format!("/etc/ld.so.conf.d/{file}"))
                .unwrap_or_default();
            folders.extend(
                text.lines()
                    .filter(|line| line.starts_with('/'))
                    .map(|line| self.path(line)),
            );
        }
        for folder in ["/usr/local/lib", "/lib", "/usr/lib"] {
            folders.push(self.path(&format!("{folder}/{multiarch}")));
            folders.push(self.path(folder));
        }
        folders.extend(["/lib64", "/usr/lib64"].map(|folder| self.path(folder)));
        folders
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
