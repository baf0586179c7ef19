//! One probe for each real backend.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use pagemill_gpu::show_bytes;
use pagemill_linux::library::EMULATOR;
use pagemill_linux::resctrl::{CacheInfo, MOUNT, Mounted, Tree};
use pagemill_linux::series::{KERNEL_SERIES, is_of_series, kernel_series_in_words};

use super::system::System;
use super::{Backend, Status};

/// Every probe, in the order of the listing.
pub const PROBES: &[fn(&System) -> Backend] = &[
    hugepages,
    pagemap,
    userfaultfd,
    kernel_modules,
    zero_pool,
    coloring,
    resctrl,
    opencl,
    cuda,
    libfabric,
    qemu,
];

fn hugepages(system: &System) -> Backend {
    const FOLDER: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let name = "hugepages";
    let (Some(total), Some(free)) = (
        system.number(&format!("{FOLDER}/nr_hugepages")),
        system.number(&format!("{FOLDER}/free_hugepages")),
    ) else {
        return Backend::missing(
            name,
            "this kernel has no 2 MiB hugepages",
            "use a Linux kernel with CONFIG_HUGETLBFS",
        );
    };
    let found = format!("{free} of {total} reserved pages of 2 MiB are free");
    let enable = format!("echo 128 | sudo tee {FOLDER}/nr_hugepages");
    match free {
        0 => Backend::limited(name, &found, &enable),
        _ => Backend::ready(name, &found),
    }
}

fn pagemap(system: &System) -> Backend {
    let name = "pagemap";
    match own_frame(system) {
        None => Backend::missing(
            name,
            "/proc/self/pagemap cannot be read",
            "use a Linux kernel with CONFIG_PROC_PAGE_MONITOR",
        ),
        Some(0) => Backend::limited(
            name,
            "readable, but physical page numbers are hidden from this user",
            "sudo setcap cap_sys_admin+ep \"$(command -v pagemill)\"",
        ),
        Some(_) => Backend::ready(name, "shows physical page numbers"),
    }
}

/// The physical page number of a page of this process; 0 when the kernel hides it.
fn own_frame(system: &System) -> Option<u64> {
    const FRAME_MASK: u64 = (1 << 55) - 1;
    let resident = Box::new(1_u8);
    let page = std::ptr::from_ref(resident.as_ref()).addr() as u64 / 4096;
    let mut file = File::open(system.path("/proc/self/pagemap")).ok()?;
    file.seek(SeekFrom::Start(page * 8)).ok()?;
    let mut entry = [0; 8];
    file.read_exact(&mut entry).ok()?;
    Some(u64::from_ne_bytes(entry) & FRAME_MASK)
}

fn userfaultfd(system: &System) -> Backend {
    const SETTING: &str = "/proc/sys/vm/unprivileged_userfaultfd";
    let name = "userfaultfd";
    if system.answers_faults() == Some(true) {
        return Backend::ready(
            name,
            "this user may answer page faults, those of system calls included",
        );
    }
    if system.can_open("/dev/userfaultfd") {
        return Backend::ready(name, "/dev/userfaultfd can be opened");
    }
    match system.number(SETTING) {
        None => Backend::missing(
            name,
            "this kernel has no userfaultfd",
            "use a Linux kernel with CONFIG_USERFAULTFD",
        ),
        Some(1) => Backend::ready(
            name,
            "vm.unprivileged_userfaultfd is 1: every user may handle faults",
        ),
        Some(_) => Backend::limited(
            name,
            "vm.unprivileged_userfaultfd is 0: faults inside the kernel are for root only",
            "sudo sysctl vm.unprivileged_userfaultfd=1",
        ),
    }
}

fn kernel_modules(system: &System) -> Backend {
    let name = "kernel-modules";
    let loaded: Vec<&str> = ["pagemill_color", "pagemill_zero"]
        .into_iter()
        .filter(|module| system.has(&format!("/sys/module/{module}")))
        .collect();
    if !loaded.is_empty() {
        return Backend::ready(name, &format!("loaded: {}", loaded.join(", ")));
    }
    let Some(release) = system.kernel_release() else {
        return Backend::missing(
            name,
            "the running kernel is not Linux",
            "use a Linux kernel",
        );
    };
    if !KERNEL_SERIES
        .iter()
        .any(|series| is_of_series(&release, series))
    {
        // Headers of such a kernel would be of no use.
        return Backend::missing(
            name,
            &format!("no module of pagemill is loaded; none is for kernel {release}"),
            &format!(
                "none for this kernel: the modules are for Linux {}, and `cargo xtask vm` runs them in a virtual machine",
                kernel_series_in_words()
            ),
        );
    }
    if system.has(&format!("/lib/modules/{release}/build")) {
        return Backend::limited(
            name,
            &format!("no module of pagemill is loaded; headers of kernel {release} are installed"),
            "make -C /lib/modules/$(uname -r)/build M=$PWD/kmod/pagemill_zero modules && \
             sudo insmod kmod/pagemill_zero/pagemill_zero.ko",
        );
    }
    let found = format!("no module of pagemill is loaded; no headers of kernel {release}");
    Backend::missing(
        name,
        &found,
        "sudo apt-get install linux-headers-$(uname -r)",
    )
}

fn zero_pool(system: &System) -> Backend {
    let name = "zero-pool";
    let enable = "sudo pagemill zero serve --pages 512 --reserve";
    match system.zero_pool() {
        Ok(pool) => {
            let page = show_bytes(pool.page_bytes);
            let found = format!(
                "{} clean pages of {page}, {} lent",
                pool.pages.clean, pool.pages.lent
            );
            Backend::ready(name, &found)
        }
        Err(why) => Backend::missing(name, &why, enable),
    }
}

fn coloring(system: &System) -> Backend {
    let name = "coloring";
    if !system.has("/sys/module/pagemill_color") {
        return Backend::missing(
            name,
            "the kernel module pagemill_color is not loaded",
            "see docs/coloring-programs.md; `pagemill doctor color` says whether it would have an effect here",
        );
    }
    if !system.can_open("/dev/pagemill_color") {
        return Backend::limited(
            name,
            "pagemill_color is loaded, but this user may not open /dev/pagemill_color",
            "sudo chmod 666 /dev/pagemill_color",
        );
    }
    let serves = if system.has("/run/pagemill/color.sock") {
        "with a coordinator"
    } else {
        "no coordinator: each task keeps the colors it asks for"
    };
    let virtual_machine = system
        .text("/proc/cpuinfo")
        .is_some_and(|text| text.contains(" hypervisor"));
    let found = format!("pagemill_color is loaded, {serves}");
    if virtual_machine {
        return Backend::limited(
            name,
            &format!(
                "{found}; this is a virtual machine, whose frame numbers need not tell colors"
            ),
            "pagemill doctor color",
        );
    }
    Backend::ready(name, &found)
}

/// Whether a processor can divide its cache by ways: what Linux calls the features.
const CACHE_FLAGS: [&str; 2] = [" cat_l3", " cat_l2"];

fn resctrl(system: &System) -> Backend {
    let name = "resctrl";
    let tree = Mounted::at(system.path(MOUNT));
    match CacheInfo::read(&tree) {
        Ok(info) => {
            let groups = tree.folders().unwrap_or_default();
            let groups = groups
                .iter()
                .filter(|group| !["info", "mon_data", "mon_groups"].contains(&group.as_str()));
            let found = format!(
                "L{} is divided by {} ways, at least {} for a task; {} of {} groups are in use",
                info.level,
                info.ways,
                info.ways_min,
                groups.count() + 1,
                info.classes
            );
            if system.can_open(&format!("{MOUNT}/schemata")) {
                Backend::ready(name, &found)
            } else {
                let found = format!("{found}; this user may not make any");
                Backend::limited(name, &found, "sudo pagemill color run -- PROGRAM")
            }
        }
        Err(error) if system.has(&format!("{MOUNT}/schemata")) => Backend::missing(
            name,
            &error.to_string(),
            "use a machine whose processor divides its cache",
        ),
        Err(_) => {
            let can = system
                .text("/proc/cpuinfo")
                .is_some_and(|text| CACHE_FLAGS.iter().any(|flag| text.contains(flag)));
            let (found, enable) = if can || system.has(MOUNT) {
                (
                    "the processor may divide its cache, and resctrl is not mounted",
                    format!("sudo mount -t resctrl resctrl {MOUNT}"),
                )
            } else {
                (
                    "this processor, or the hypervisor above it, does not divide its cache",
                    "use a machine with Intel CAT, AMD QoS or Arm MPAM".to_owned(),
                )
            };
            Backend::missing(name, found, &enable)
        }
    }
}

fn opencl(system: &System) -> Backend {
    let name = "opencl";
    let enable = "sudo apt-get install ocl-icd-libopencl1 pocl-opencl-icd";
    let drivers: Vec<String> = system
        .names("/etc/OpenCL/vendors")
        .into_iter()
        .filter_map(|file| Some(file.strip_suffix(".icd")?.to_owned()))
        .collect();
    match (system.library("libOpenCL.so.1"), drivers.is_empty()) {
        (Some(_), false) => Backend::ready(name, &format!("drivers: {}", drivers.join(", "))),
        (Some(_), true) => Backend::limited(
            name,
            "libOpenCL.so.1, but no driver in /etc/OpenCL/vendors",
            enable,
        ),
        (None, false) => {
            let found = format!("drivers {}, but no libOpenCL.so.1", drivers.join(", "));
            Backend::limited(name, &found, enable)
        }
        (None, true) => Backend::missing(name, "no libOpenCL.so.1, no driver", enable),
    }
}

fn cuda(system: &System) -> Backend {
    match system.gpus() {
        // What the driver itself says is worth more than files.
        Some(Ok(gpus)) => Backend::ready("cuda", &gpus.join("; ")),
        Some(Err(message)) => {
            let files = cuda_by_files(system);
            match files.status {
                Status::Missing => files,
                _ => Backend::limited("cuda", &message, "see docs/gpu-bench.md"),
            }
        }
        None => cuda_by_files(system),
    }
}

fn cuda_by_files(system: &System) -> Backend {
    let name = "cuda";
    let enable = "sudo apt-get install nvidia-driver (with an NVIDIA GPU)";
    let Some(library) = system.library("libcuda.so.1") else {
        return Backend::missing(name, "no libcuda.so.1", enable);
    };
    let library = file_name(&library);
    let gpus = gpu_models(system);
    if gpus.is_empty() {
        let found = format!("{library}, but no GPU in /proc/driver/nvidia/gpus");
        return Backend::limited(
            name,
            &found,
            "attach an NVIDIA GPU and load its driver: sudo modprobe nvidia",
        );
    }
    let found = format!("{library}, {}", gpus.join(", "));
    if system.can_open("/dev/nvidiactl") {
        Backend::ready(name, &found)
    } else {
        Backend::limited(
            name,
            &format!("{found}, but /dev/nvidiactl cannot be opened"),
            "sudo nvidia-modprobe -c 0",
        )
    }
}

fn gpu_models(system: &System) -> Vec<String> {
    let information = |gpu: String| {
        let text = system.text(&format!("/proc/driver/nvidia/gpus/{gpu}/information"))?;
        let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(model.trim().to_owned())
    };
    system
        .names("/proc/driver/nvidia/gpus")
        .into_iter()
        .filter_map(information)
        .collect()
}

fn libfabric(system: &System) -> Backend {
    let name = "libfabric";
    match system.library("libfabric.so.1") {
        Some(library) => Backend::ready(
            name,
            &format!("{}{}", file_name(&library), open_mpi(system)),
        ),
        None => Backend::missing(name, "no libfabric.so.1", "sudo apt-get install libfabric1"),
    }
}

/// Whether the MPI library of Debian is there, which `pagemill mpi` runs programs with.
fn open_mpi(system: &System) -> String {
    let plugin = format!(
        "/usr/lib/{}-linux-gnu/openmpi/lib/openmpi3/mca_mtl_ofi.so",
        std::env::consts::ARCH
    );
    match (system.program("mpirun"), system.has(&plugin)) {
        (Some(_), true) => ", Open MPI with mtl ofi".to_owned(),
        (Some(_), false) => format!(", mpirun, but no {plugin}"),
        (None, _) => ", no mpirun (sudo apt-get install openmpi-bin)".to_owned(),
    }
}

fn qemu(system: &System) -> Backend {
    let name = "qemu";
    match system.program(EMULATOR) {
        Some(_) => Backend::ready(
            name,
            &format!("{EMULATOR}: `mrc -- PROGRAM`, `mpi --compute counted`"),
        ),
        None => Backend::missing(
            name,
            &format!("no {EMULATOR} in PATH"),
            "sudo apt-get install qemu-user",
        ),
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
