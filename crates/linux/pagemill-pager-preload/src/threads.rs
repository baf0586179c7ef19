//! A program ends when its own threads have ended: those of the pager do not keep it.

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use pagemill_linux::process::refuse_signals;

/// Between two looks at the threads of a program whose first thread has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// When the first thread, which calls this, ends by `pthread_exit`, the process ends with the last one.
pub fn watch_the_first() {
    let mut key = 0;
    // SAFETY: the key is written before it is used. Its destructor runs at the end of a thread, and not at the end of the process.
    unsafe {
        if libc::pthread_key_create(&raw mut key, Some(first_ends)) == 0 {
            libc::pthread_setspecific(key, ptr::without_provenance(1));
        }
    }
}

unsafe extern "C" fn first_ends(_: *mut c_void) {
    let wait = || {
        refuse_signals();
        wait_for_the_others();
        std::process::exit(0);
    };
    let thread = std::thread::Builder::new().name("pagemill-last".to_owned());
    if thread.spawn(wait).is_err() {
        wait_for_the_others();
        std::process::exit(0);
    }
}

/// Ends the process with `code` once the calling thread is the last of the program's.
pub fn end_with_the_last(code: i32) {
    wait_for_the_others();
    // SAFETY: ends the process; handlers of `exit` are not for a thread's end.
    unsafe { libc::_exit(code) };
}

fn wait_for_the_others() {
    while is_alone() != Some(true) {
        std::thread::sleep(PAUSE);
    }
}

/// Whether all other threads are the pager's, or have ended. Not known where the process cannot list them.
pub fn is_alone() -> Option<bool> {
    // SAFETY: returns a number.
    let own = unsafe { libc::gettid() }.to_string();
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    Some(threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        thread.file_name().to_str() == Some(&own)
            || stat.is_empty()
            || stat.contains("(pagemill-")
            || stat.contains(") Z ")
            || stat.contains(") X ")
    }))
}
