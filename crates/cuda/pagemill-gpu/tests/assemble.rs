//! NVIDIA's assembler takes the kernels as drivers get them.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_gpu::{Kernel, for_any_driver};

/// From the V100's successor to Blackwell; the assembler of CUDA 13 has dropped the V100 itself.
const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100"];

/// The assembler beside the compiler that `cargo xtask workloads` installs.
fn ptxas() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let environment = root.join("target/venv/cuda/lib");
    let folders = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    folders(environment)
        .flat_map(|python| folders(python.path().join("site-packages/nvidia")))
        .map(|toolkit| toolkit.path().join("bin/ptxas"))
        .find(|program| program.is_file())
}

#[test]
fn the_assembler_takes_the_lowered_kernels_and_they_leave_room_for_all_threads() {
    let Some(ptxas) = ptxas() else {
        return pagemill_testkit::skip("there is no ptxas in target/venv/cuda");
    };
    let folder = tempfile::tempdir().unwrap();
    for kernel in Kernel::all() {
        let source = folder.path().join("kernel.ptx");
        std::fs::write(&source, for_any_driver(kernel.ptx())).unwrap();
        for architecture in ARCHITECTURES {
            let output = Command::new(&ptxas)
                .args(["-v", "-arch", architecture, "-o"])
                .arg(folder.path().join("kernel.cubin"))
                .arg(&source)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{architecture}: {told}");
            // 65,536 registers for 2,048 threads: full occupancy needs 32 or fewer.
            for (_, rest) in told
                .match_indices("Used ")
                .map(|(at, _)| told.split_at(at + 5))
            {
                let registers: u32 = rest.split(' ').next().unwrap().parse().unwrap();
                assert!(registers <= 32, "{architecture}: {registers} registers");
            }
        }
    }
}
