use super::*;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// A machine made of the given files.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    let programs = root.path().join("usr/bin");
    let system = System::at(root.path(), programs.as_os_str(), OsStr::new(""));
    (root, system)
}

fn statuses(system: &System) -> Vec<(&'static str, &'static str)> {
    examine(system)
        .iter()
        .map(|backend| (backend.name, backend.status.name()))
        .collect()
}

#[test]
fn an_empty_machine_lacks_everything_and_every_lack_has_a_remedy() {
    let (_root, system) = machine(&[]);
    let backends = examine(&system);
    for backend in &backends {
        assert_eq!(backend.status, Status::Missing, "{backend:?}");
        assert!(backend.enable.is_some(), "{backend:?}");
    }
    assert_eq!(backends.len(), 11);
}

#[test]
fn a_full_machine_is_ready() {
    let qemu = format!("usr/bin/{}", pagemill_linux::library::EMULATOR);
    // Every page number below 2^20 of a process has an entry, so a sparse file stands for all.
    let (root, system) = machine(&[
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "64\n",
        ),
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
            "60\n",
        ),
        ("proc/sys/vm/unprivileged_userfaultfd", "1\n"),
        ("sys/module/pagemill_color/version", "1\n"),
        ("dev/pagemill_color", ""),
        ("sys/fs/resctrl/schemata", "    L3:0=7ff;1=7ff\n"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "7ff\n"),
        ("sys/fs/resctrl/info/L3/min_cbm_bits", "2\n"),
        ("sys/fs/resctrl/info/L3/num_closids", "8\n"),
        ("sys/fs/resctrl/other/tasks", ""),
        ("etc/OpenCL/vendors/pocl.icd", "libpocl.so\n"),
        ("usr/lib/libOpenCL.so.1", ""),
        ("usr/lib/libcuda.so.1", ""),
        (
            "proc/driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t NVIDIA H200\nIRQ: 1\n",
        ),
        ("dev/nvidiactl", ""),
        ("opt/fabric/libfabric.so.1", ""),
        ("etc/ld.so.conf.d/fabric.conf", "# comment\n/opt/fabric\n"),
        (&qemu, ""),
    ]);
    let ready: Vec<_> = statuses(&system)
        .into_iter()
        .filter(|(_, status)| *status == "ready")
        .collect();
    assert_eq!(ready.len(), 9, "{ready:?}");
    let cuda = examine(&system)
        .into_iter()
        .find(|backend| backend.name == "cuda")
        .expect("cuda");
    assert_eq!(cuda.found, "libcuda.so.1, NVIDIA H200");
    let resctrl = examine(&system)
        .into_iter()
        .find(|backend| backend.name == "resctrl")
        .expect("resctrl");
    assert_eq!(
        resctrl.found,
        "L3 is divided by 11 ways, at least 2 for a task; 2 of 8 groups are in use"
    );
    drop(root);
}

#[test]
fn what_is_there_in_part_says_what_is_lacking() {
    let (_root, system) = machine(&[
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "0\n",
        ),
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
            "0\n",
        ),
        ("proc/sys/vm/unprivileged_userfaultfd", "0\n"),
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        ("lib/modules/6.1.0/build", ""),
        ("usr/lib/libOpenCL.so.1", ""),
        ("usr/lib/libcuda.so.1", ""),
    ]);
    let limited: Vec<_> = statuses(&system)
        .into_iter()
        .filter(|(_, status)| *status == "limited")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        limited,
        [
            "hugepages",
            "userfaultfd",
            "kernel-modules",
            "opencl",
            "cuda"
        ]
    );
}

#[test]
fn headers_are_offered_only_for_kernels_that_modules_support() {
    for (release, offers) in [
        ("6.1.0-56-amd64", true),
        ("6.12.95", true),
        ("6.18.44-fc", false),
        ("5.15.0-generic", false),
        ("6.10.1", false),
    ] {
        for has_headers in [false, true] {
            let build = format!("lib/modules/{release}/build");
            let osrelease = ("proc/sys/kernel/osrelease", release);
            let all = [osrelease, (build.as_str(), "")];
            let (_root, system) = machine(&all[..1 + usize::from(has_headers)]);
            let backends = examine(&system);
            let modules = backends.iter().find(|one| one.name == "kernel-modules");
            let modules = modules.expect("it is examined");
            let enable = modules.enable.as_deref().expect("it is not ready");
            assert_eq!(enable.contains("linux-headers"), offers && !has_headers);
            assert_eq!(enable.contains("make -C"), offers && has_headers);
            assert_eq!(enable.contains("none for this kernel"), !offers);
            assert!(
                offers || !modules.found.contains("headers"),
                "{}",
                modules.found
            );
        }
    }
}

#[test]
fn this_machine_is_examined_without_failing() {
    assert_eq!(examine(&System::this()).len(), 11);
    assert!(Path::new("/").exists());
}

#[test]
fn json_and_text_tell_the_same() {
    let (_root, system) = machine(&[]);
    let backends = examine(&system);
    let (text, json) = (show_table(&backends), show_json(&backends));
    for backend in json["backends"].as_array().expect("a list") {
        let found = backend["found"].as_str().expect("text");
        assert!(text.contains(found), "{found}");
    }
}
