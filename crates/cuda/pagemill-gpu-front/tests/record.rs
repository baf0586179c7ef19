//! What is left of a run, by a stand-in for CUPTI.

// The library's own exports would take this program's names.
#[path = "../src/record/mod.rs"]
mod record;

use std::ffi::{CString, OsStr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pagemill_gpu::recording::{CopyKind, Recording, VERSION};
use pagemill_testkit::skip;
use serde_json::json;

/// Has [`a_recorded_program`] be one: the folder for the file.
const FOLDER: &str = "RECORD_TEST_FOLDER";
/// What it does beside that.
const HABIT: &str = "RECORD_TEST_HABIT";

/// What the other tests run: there is one recording in a process.
#[test]
fn a_recorded_program() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let habit = std::env::var(HABIT).unwrap_or_default();
    match habit.as_str() {
        "has a runtime" => {
            let runtime = folder.join("cuda/lib64/libcudart.so.12");
            let runtime = CString::new(runtime.as_os_str().as_encoded_bytes()).expect("a path");
            // SAFETY: the name ends with a zero byte, and the library is the stand-in, which does nothing when it is loaded.
            let loaded = unsafe { libc::dlopen(runtime.as_ptr(), libc::RTLD_NOW) };
            assert!(!loaded.is_null());
        }
        "does not start" => return record::finish(folder),
        _ => {}
    }
    record::start();
    record::start();
    if habit == "forks" {
        // SAFETY: the child only calls what returns at once, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            record::start();
            record::finish(folder);
            // SAFETY: the process ends, and nothing of it is used after that.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: it waits for a child of its own, and asks for no status.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    record::finish(folder);
    record::finish(folder);
    record::start();
}

struct Cupti {
    folder: tempfile::TempDir,
}

impl Cupti {
    /// `None`, and a counted reason, without a C compiler.
    fn compile(flags: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cupti.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(folder.path().join("libfake.so"))
            .arg(source)
            .args(flags)
            .status();
        let Ok(status) = compiled else {
            skip("there is no C compiler called cc");
            return None;
        };
        assert!(status.success(), "the stand-in for CUPTI compiles");
        Some(Self { folder })
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("libfake.so")
    }

    /// Copies the library to a path, which is from its folder if it is relative.
    fn copy_to(&self, place: impl AsRef<Path>) {
        let to = self.folder.path().join(place);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(self.library(), to).expect("a copy");
    }

    /// Runs the program with this library.
    fn run(&self, settings: &[(&str, &str)]) -> Output {
        self.run_with(self.library().as_os_str(), settings)
    }

    fn run_with(&self, library: &OsStr, settings: &[(&str, &str)]) -> Output {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.args(["--exact", "a_recorded_program", "--nocapture"]);
        program.env(FOLDER, self.folder.path());
        program
            .env_remove("CUDA_HOME")
            .env("PAGEMILL_CUPTI", library);
        if library.is_empty() {
            program.env_remove("PAGEMILL_CUPTI");
        }
        let output = program.envs(settings.iter().copied()).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("fake CUPTI"), "{said}");
        output
    }

    /// The files with recordings.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
            .filter(|path| path.to_string_lossy().contains("record-"))
            .collect()
    }

    /// The text of the only recording, whose file is removed.
    fn text(&self) -> String {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        let name = files[0].file_name().expect("a name").to_string_lossy();
        let number = name.strip_prefix("record-").expect("a number");
        let number = number.strip_suffix(".json").expect("a number");
        number.parse::<u32>().expect("a number");
        let text = std::fs::read_to_string(&files[0]).expect("text");
        std::fs::remove_file(&files[0]).expect("removed");
        text
    }

    /// What a run with these settings leaves.
    fn recording(&self, settings: &[(&str, &str)]) -> Recording {
        self.run(settings);
        serde_json::from_str(&self.text()).expect("a recording")
    }
}

/// What the stand-in delivers, in the words of the file.
fn expected(cupti_version: u32) -> serde_json::Value {
    json!({
        "version": 1,
        "cupti_version": cupti_version,
        "dropped": 0,
        "left_out": 0,
        "others": 1,
        "kernels": [
            {"name": "_Z3addPfS_i", "start_ns": 1000, "end_ns": 2000, "grid": [80, 2, 1], "block": [256, 4, 3],
             "registers": 40, "stream": 7, "correlation": 12},
            {"name": "_Z3addPfS_i", "start_ns": 0, "end_ns": 0, "grid": [1, 1, 1], "block": [32, 1, 1],
             "registers": 41, "stream": 26, "correlation": 27},
        ],
        "transfers": [
            {"kind": "to-gpu", "start_ns": 1100, "end_ns": 1200, "address": 0x7f00_0001_0000_u64, "bytes": 65536,
             "cause": "coherence"},
            {"kind": "to-cpu", "start_ns": 1300, "end_ns": 1400, "address": 0x7f00_0020_0000_u64, "bytes": 2_097_152,
             "cause": "eviction"},
        ],
        "fault_groups": [
            {"start_ns": 1050, "end_ns": 1250, "address": 0x7f00_0001_2000_u64, "faults": 19, "access": "write"},
        ],
        "cpu_faults": [{"at_ns": 2500, "address": 0x7f00_0001_3000_u64}],
        "thrashing": 1,
        "throttling": 2,
        "remote_maps": 1,
        "copies": [
            {"kind": "cpu-to-gpu", "start_ns": 3100, "end_ns": 3200, "bytes": 300},
            {"kind": "other", "start_ns": 3300, "end_ns": 3400, "bytes": 301},
            {"kind": "fill", "start_ns": 3500, "end_ns": 3600, "bytes": 302},
        ],
        "failed": [],
    })
}

#[test]
fn records_of_every_size_are_read() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    for version in [18, 24, 26, 28, 130_000, 130_101, 130_301, 130_401, 130_599] {
        cupti.run(&[("FAKE_CUPTI_VERSION", &version.to_string())]);
        let text = cupti.text();
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value, expected(version));
        let recording: Recording = serde_json::from_str(&text).expect("a recording");
        assert_eq!(recording.version, VERSION);
        assert_eq!(recording.copies[1].kind, CopyKind::Other);
    }
}

#[test]
fn versions_whose_records_are_not_known_are_refused_by_name() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    let known = "the CUPTIs whose records this pagemill knows are those of CUDA 12.0 to 13.5";
    for (version, said) in [
        ("140100", "CUPTI 14.1 is newer than 13.5"),
        ("130600", "CUPTI 13.6 is newer than 13.5"),
        ("17", "CUPTI has interface version 17"),
        ("29", "CUPTI has interface version 29"),
    ] {
        let recording = cupti.recording(&[("FAKE_CUPTI_VERSION", version)]);
        let nothing = Recording {
            version: VERSION,
            failed: vec![format!("{said}: {known}")],
            ..Recording::default()
        };
        assert_eq!(recording, nothing);
    }
}

#[test]
fn a_call_that_fails_is_named_and_the_rest_is_recorded() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    // The calls, and the numbers of kernels and of transfers that are recorded nevertheless.
    for (call, kernels, transfers) in [
        ("cuptiGetVersion", 0, 0),
        ("cuptiActivityRegisterCallbacks", 0, 0),
        ("cuptiActivityConfigureUnifiedMemoryCounter", 2, 0),
        ("cuptiActivityEnable of kind 10", 0, 2),
        ("cuptiActivityEnable of kind 25", 2, 0),
        ("cuptiActivityGetNextRecord", 1, 0),
        ("cuptiActivityGetNumDroppedRecords", 2, 2),
        ("cuptiActivityFlushAll", 2, 2),
    ] {
        let recording = cupti.recording(&[("FAKE_CUPTI_FAIL", call)]);
        let text = match call {
            "cuptiActivityGetNextRecord" => "a message (21)",
            _ => "NO_PRIVILEGES (35)",
        };
        assert_eq!(recording.failed, [format!("{call}: {text}")]);
        let recorded = (recording.kernels.len(), recording.transfers.len());
        assert_eq!(recorded, (kernels, transfers), "{call}");
    }
}

#[test]
fn a_library_without_messages_records_and_one_without_calls_is_refused() {
    let Some(old) = Cupti::compile(&["-DWITHOUT_MESSAGE"]) else {
        return;
    };
    let failure = [("FAKE_CUPTI_FAIL", "cuptiActivityGetNextRecord")];
    let recording = old.recording(&failure);
    let said = "cuptiActivityGetNextRecord: an error without text (21)";
    assert_eq!(recording.failed, [said]);

    let other = Cupti::compile(&["-DcuptiActivityEnable=another"]).expect("it just compiled");
    let recording = other.recording(&[]);
    let said = "the library has no cuptiActivityEnable";
    assert_eq!(recording.failed, [said]);
    assert_eq!(recording.cupti_version, None);
}

#[test]
fn records_fill_buffer_after_buffer() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    // Some 14 buffers.
    let recording = cupti.recording(&[
        ("FAKE_CUPTI_ROUNDS", "40000"),
        ("FAKE_CUPTI_VERSION", "130500"),
    ]);
    assert_eq!(recording.failed, [""; 0]);
    assert_eq!(recording.kernels.len(), 80_000);
    assert_eq!(recording.copies.len(), 120_000);
    assert_eq!((recording.thrashing, recording.others), (40_000, 40_000));
}

#[test]
fn buffers_have_a_limit_and_what_is_dropped_is_counted() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    // The stand-in drops a record for each buffer that it keeps.
    let recording = cupti.recording(&[("FAKE_CUPTI_HOARD", "1")]);
    assert_eq!(recording.dropped, 64);
    assert_eq!(recording.failed, [""; 0]);
}

#[test]
fn a_record_that_ends_behind_its_buffer_is_not_read() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    // Of the 208 bytes of the last kernel, those up to its name are read.
    let whole = cupti.recording(&[("FAKE_CUPTI_CUT", "96")]);
    assert_eq!((whole.kernels.len(), whole.failed.len()), (2, 0));
    let cut = cupti.recording(&[("FAKE_CUPTI_CUT", "97")]);
    assert_eq!(cut.kernels.len(), 1);
    assert_eq!(cut.failed, ["a record of CUPTI ends behind its buffer"]);
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    cupti.run_with(OsStr::new("no-folder/libcupti.so"), &[]);
    let recording: Recording = serde_json::from_str(&cupti.text()).expect("a recording");
    assert_eq!(recording.failed.len(), 1);
    assert!(recording.failed[0].contains("no-folder/libcupti.so"));
}

#[test]
fn the_library_of_the_loaded_runtime_is_found_and_then_the_toolkit_s() {
    let Some(cupti) = Cupti::compile(&["-DDEFAULT_VERSION=22"]) else {
        return;
    };
    let newer = Cupti::compile(&["-DDEFAULT_VERSION=130200"]).expect("it just compiled");
    newer.copy_to("extras/CUPTI/lib64/libcupti.so.13");
    let home = newer.folder.path().to_string_lossy();
    let settings = [("CUDA_HOME", &*home), (HABIT, "has a runtime")];
    let version = |settings: &[(&str, &str)]| {
        cupti.run_with(OsStr::new(""), settings);
        let recording: Recording = serde_json::from_str(&cupti.text()).expect("a recording");
        assert_eq!(recording.failed, [""; 0]);
        recording.cupti_version
    };
    assert_eq!(version(&settings[..1]), Some(130_200));
    cupti.copy_to("cuda/lib64/libcudart.so.12");
    assert_eq!(version(&settings), Some(130_200), "the runtime has none");
    let beside = "cuda/extras/CUPTI/lib64/libcupti.so";
    newer.copy_to(cupti.folder.path().join(format!("{beside}.13")));
    cupti.copy_to(format!("{beside}.12"));
    assert_eq!(version(&settings), Some(22));
}

#[test]
fn a_library_that_fails_is_passed_over_for_the_next() {
    let Some(cupti) = Cupti::compile(&["-DDEFAULT_VERSION=140000"]) else {
        return;
    };
    let older = Cupti::compile(&["-DDEFAULT_VERSION=27"]).expect("it just compiled");
    older.copy_to("extras/CUPTI/lib64/libcupti.so.12");
    cupti.copy_to("cuda/lib64/libcudart.so.12");
    cupti.copy_to("cuda/lib64/libcupti.so");
    let home = older.folder.path().to_string_lossy();
    let settings = [("CUDA_HOME", &*home), (HABIT, "has a runtime")];
    cupti.run_with(OsStr::new(""), &settings);
    let recording: Recording = serde_json::from_str(&cupti.text()).expect("a recording");
    assert_eq!(recording.cupti_version, Some(27));
}

#[test]
fn a_child_leaves_nothing_and_neither_does_a_process_that_did_not_start() {
    let Some(cupti) = Cupti::compile(&[]) else {
        return;
    };
    let recording = cupti.recording(&[(HABIT, "forks")]);
    assert_eq!(recording.kernels.len(), 2);
    cupti.run(&[(HABIT, "does not start")]);
    assert_eq!(cupti.files(), Vec::<PathBuf>::new());
}
