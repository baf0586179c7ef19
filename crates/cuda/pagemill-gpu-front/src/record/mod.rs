//! Records what a program does on its GPUs, by CUPTI's activity API.
//!
//! What fails is in the file that is left at the end; the program does not notice. `PAGEMILL_CUPTI` names the library, where
//! `library.rs` does not find it.

mod buffers;
mod cupti;
mod layout;
mod library;

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use cupti::IN_USE;
use pagemill_gpu::recording;

/// The process that is recorded; 0 before [`start`] and after [`finish`].
static RECORDED: AtomicU32 = AtomicU32::new(0);

/// Starts to record this process. CUDA's driver is initialized: CUPTI refuses to count managed memory before.
///
/// A second call does nothing, neither does one that CUPTI causes while the first is under way.
pub fn start() {
    let is_first = RECORDED.compare_exchange(0, process::id(), Ordering::AcqRel, Ordering::Relaxed);
    if is_first.is_err() || IN_USE.get().is_some() {
        return;
    }
    let opened = library::open().and_then(|(cupti, version)| {
        buffers::set_version(version);
        cupti.register(buffers::request, buffers::complete)?;
        Ok(cupti)
    });
    let cupti = match opened {
        Ok(cupti) => IN_USE.get_or_init(|| cupti),
        Err(failure) => return buffers::note(failure),
    };
    let managed = cupti
        .configure()
        .and_then(|()| cupti.enable(layout::MANAGED));
    let others = [layout::KERNEL, layout::COPY, layout::FILL].map(|kind| cupti.enable(kind));
    for failure in others.into_iter().chain([managed]).filter_map(Result::err) {
        buffers::note(failure);
    }
}

/// Ends the recording, and leaves it in `folder` as `record-PID.json`.
///
/// Does nothing in a process that was not started: a child of a fork has no GPU.
pub fn finish(folder: &Path) {
    let id = process::id();
    let is_ours = RECORDED.compare_exchange(id, 0, Ordering::AcqRel, Ordering::Relaxed);
    if is_ours.is_err() {
        return;
    }
    let dropped = IN_USE.get().map(|cupti| {
        let flushed = cupti.flush();
        flushed.err().into_iter().for_each(buffers::note);
        let dropped = cupti.dropped();
        dropped.unwrap_or_else(|failure| {
            buffers::note(failure);
            0
        })
    });
    let mut recording = buffers::take();
    recording.version = recording::VERSION;
    recording.dropped = dropped.unwrap_or(0);
    // The program has nothing to do with it; `pagemill gpu record` sees that there is no file.
    let _ = recording.write(folder, id);
}
