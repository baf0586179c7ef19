//! CUDA's compiler and libraries, where `cargo xtask test` has put them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python packages of CUDA under `target/venv/cuda`.
pub struct Toolkit {
    packages: PathBuf,
    /// Where compiled programs go.
    folder: PathBuf,
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

impl Toolkit {
    /// The toolkit; a test that has none is counted as skipped.
    pub fn find() -> Option<Self> {
        let libraries = root().join("target/venv/cuda/lib");
        let packages = std::fs::read_dir(libraries)
            .into_iter()
            .flatten()
            .filter_map(|python| Some(python.ok()?.path().join("site-packages/nvidia")))
            .find(|packages| packages.join("cu13/bin/nvcc").is_file());
        let Some(packages) = packages else {
            pagemill_testkit::skip("there is no nvcc: `cargo xtask test` installs it");
            return None;
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        std::fs::create_dir_all(&folder).expect("a folder for programs");
        Some(Self { packages, folder })
    }

    /// The folder of its programs.
    pub fn programs(&self) -> PathBuf {
        self.packages.join("cu13/bin")
    }

    /// Compiles `source` with nvcc as a user does, and returns the program.
    pub fn compile(&self, source: &Path, name: &str, flags: &[&str]) -> PathBuf {
        let toolkit = self.packages.join("cu13");
        let links = self.links("13", &toolkit.join("lib/libcudart.so.13"));
        self.run(
            Command::new(toolkit.join("bin/nvcc"))
                .args(["-cudart", "shared", "-L"])
                .arg(links)
                .arg("-L")
                .arg(toolkit.join("lib"))
                .args(flags)
                .arg(source),
            name,
        )
    }

    /// Compiles `source` with nvcc as it is: the runtime becomes part of the program.
    pub fn compile_plainly(&self, source: &Path, name: &str) -> PathBuf {
        self.compile_plainly_with(source, name, &[])
    }

    /// The same with `flags`.
    pub fn compile_plainly_with(&self, source: &Path, name: &str, flags: &[&str]) -> PathBuf {
        let toolkit = self.packages.join("cu13");
        let mut command = Command::new(toolkit.join("bin/nvcc"));
        command.arg("-L").arg(toolkit.join("lib")).args(flags);
        self.run(command.arg(source), name)
    }

    /// Compiles `source` with the host's compiler, CUDA 12's runtime becoming part of the program; `None` where that is not
    /// installed, which is counted.
    pub fn compile_plainly_for_12(&self, source: &Path, name: &str) -> Option<PathBuf> {
        let runtime = self.packages.join("cuda_runtime/lib/libcudart_static.a");
        if !runtime.is_file() {
            pagemill_testkit::skip("there is no CUDA 12 runtime: `cargo xtask test` installs it");
            return None;
        }
        let mut command = self.host_compiler();
        command
            .arg(source)
            .arg(runtime)
            .args(["-ldl", "-lrt", "-lpthread"]);
        self.link_nvrtc_12(&mut command);
        Some(self.run(&mut command, name))
    }

    /// The host's compiler with the headers of CUDA 12.
    fn host_compiler(&self) -> Command {
        let mut command = Command::new("g++");
        for package in ["cuda_runtime", "cuda_nvrtc", "cuda_nvcc"] {
            command
                .arg("-I")
                .arg(self.packages.join(package).join("include"));
        }
        command
    }

    fn link_nvrtc_12(&self, command: &mut Command) {
        let libraries = self.packages.join("cuda_nvrtc/lib");
        command
            .arg(libraries.join("libnvrtc.so.12"))
            .arg(rpath(&libraries));
    }

    /// Compiles `source` with the host's compiler against CUDA 12; `None` where that is not installed, which is counted.
    pub fn compile_for_12(&self, source: &Path, name: &str) -> Option<PathBuf> {
        let runtime = self.packages.join("cuda_runtime");
        if !runtime.join("lib/libcudart.so.12").is_file() {
            pagemill_testkit::skip("there is no CUDA 12 runtime: `cargo xtask test` installs it");
            return None;
        }
        let links = self.links("12", &runtime.join("lib/libcudart.so.12"));
        let mut command = self.host_compiler();
        command.arg(source).arg("-L").arg(links).arg("-lcudart");
        self.link_nvrtc_12(&mut command);
        Some(self.run(&mut command, name))
    }

    /// A folder with the one name that linkers look for.
    fn links(&self, version: &str, library: &Path) -> PathBuf {
        let folder = self.folder.join(format!("links{version}"));
        std::fs::create_dir_all(&folder).expect("a folder for links");
        let link = folder.join("libcudart.so");
        if std::fs::read_link(&link).is_ok_and(|target| target == library) {
            return folder;
        }
        // In one step: other tests look for it meanwhile.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let new = folder.join(format!("{process}-{thread:?}"));
        std::os::unix::fs::symlink(library, &new).expect("a link");
        std::fs::rename(new, &link).expect("a link");
        folder
    }

    fn run(&self, command: &mut Command, name: &str) -> PathBuf {
        let program = self.folder.join(name);
        let output = command
            .arg("-o")
            .arg(&program)
            .output()
            .expect("the compiler starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        program
    }
}

fn rpath(folder: &Path) -> impl AsRef<OsStr> {
    format!("-Wl,-rpath,{}", folder.display())
}
