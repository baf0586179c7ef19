//! The C border. Every function checks its pointers, calls safe code, and turns what went wrong into a code and a line on
//! standard error. No panic leaves it.
//!
//! The program keeps the contract of the CUDA runtime API: a pointer argument that is not null points to what the API says,
//! for as long as the API says. [`OutPtr`], [`InPtr`] and [`InText`] say so for most of them, once.

mod array;
mod call_stack;
mod captured_memory;
mod copy;
mod cudnn;
mod device;
mod driver;
mod exit;
mod graph;
mod graph_memory;
mod graph_node;
mod graph_shape;
mod ipc;
mod launch;
mod library;
mod memory;
mod mipmap;
mod nvml;
mod pointers;
mod pool;
mod properties;
mod registration;
mod resource_view;
mod shim;
mod start;
mod stream;
mod texture;
mod user_object;
mod waiter;
mod work;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

use pagemill_linux::{children, scratch};

use crate::error::{CudaError, Fault};
use crate::runtime::{FunctionKey, Runtime};
use crate::setting::Setting;
use pagemill_ptx::readable_text;
use pointers::{Done, InPtr, InText, OutPtr, null};

/// Exports functions of the CUDA runtime as `pagemill_<name>`, to which the shims jump.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(export_name = concat!("pagemill_", stringify!($name)))]
            #[allow(non_snake_case, reason = "CUDA's names")]
            // SAFETY: the prefix keeps the name from any other library's; the shims pass on the arguments as the program's.
            pub(in crate::ffi) unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                $crate::ffi::guard(stringify!($name), || $body)
            }
        )*
    };
}
pub(crate) use api;

enum State {
    /// Nothing was asked yet.
    Fresh,
    Ready(Box<Runtime>),
    /// The setting is wrong, which was said.
    Failed,
    /// The process ends.
    Finished,
}

static STATE: Mutex<State> = Mutex::new(State::Fresh);

thread_local! {
    static LAST_ERROR: Cell<CudaError> = const { Cell::new(CudaError::SUCCESS) };
    /// Whether this thread is in a function of the program that a stream calls.
    static HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function of the program while the runtime is locked.
fn within_host_function(function: impl FnOnce()) {
    HOST_FUNCTION.set(true);
    function();
    HOST_FUNCTION.set(false);
}

/// Runs the body of a function of the runtime API.
fn guard(function: &'static str, body: impl FnOnce() -> Done) -> i32 {
    driver::note_runtime();
    match caught(body) {
        Ok(()) => CudaError::SUCCESS.0,
        Err(fault) => {
            let name = driver::called_as().unwrap_or(function);
            if let Some(message) = &fault.message
                && !is_finding(name, &fault)
            {
                complain(name, message);
            }
            // A question whose answer is "not yet" is no error.
            if fault.code != CudaError::NOT_READY {
                LAST_ERROR.set(fault.code);
            }
            fault.code.0
        }
    }
}

/// Notes a call that was a mistake, where mistakes are looked for; whether it was said.
fn is_finding(function: &str, fault: &Fault) -> bool {
    let (Some(defect), Some(message)) = (fault.defect, &fault.message) else {
        return false;
    };
    let caller = call_stack::capture().frames.into_iter().next();
    let place = caller.map_or_else(String::new, |frame| {
        let module = frame.module.rsplit('/').next().unwrap_or_default();
        format!(" in {module}+{:#x}", frame.address - frame.base)
    });
    let place = format!("{function}{place}");
    enter_for(true, |runtime| {
        Ok(runtime.device.note_call(defect, &place, message))
    })
    .unwrap_or(false)
}

/// Runs `body`; a panic becomes an unknown error.
fn caught(body: impl FnOnce() -> Done) -> Done {
    let done = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let message = "a defect of pagemill (see above); the program gets the unknown error (999)";
        Err(Fault::new(CudaError::UNKNOWN, message))
    });
    done.map_err(of_library)
}

/// Names the library that asks for device code which cannot be executed: the user's own build is not the cause.
fn of_library(mut fault: Fault) -> Fault {
    if let (CudaError::NO_KERNEL_IMAGE, Some(message)) = (fault.code, &mut fault.message)
        && let Some(library) = call_stack::library()
    {
        *message = format!(
            "asked for by {library}, not by the program itself: {message}, or do without a library that you cannot build"
        );
    }
    fault
}

/// Lines of standard error that are kept to be written only once.
const COMPLAINTS_MAX: usize = 4096;

/// Writes a line to standard error, the first time that it is the same.
fn complain(function: &str, message: &str) {
    use std::io::Write;
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("pagemill: {function}: {}", readable_text(message));
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.contains(&line) {
        return;
    }
    // A closed standard error leaves no place for a message.
    let _ = writeln!(std::io::stderr(), "{line}");
    if seen.len() < COMPLAINTS_MAX {
        seen.insert(line);
    }
}

/// Asks the runtime, which is made for the first who asks.
fn with_runtime<T>(work: impl FnOnce(&mut Runtime) -> Result<T, Fault>) -> Result<T, Fault> {
    enter(|runtime| runtime.call(work))
}

/// Asks the runtime for a launch of the kernel `key`, which is noted if it fails.
fn with_runtime_for<T>(
    key: FunctionKey,
    work: impl FnOnce(&mut Runtime) -> Result<T, Fault>,
) -> Result<T, Fault> {
    enter(|runtime| runtime.call_launch(key, work))
}

/// Tells the runtime, which is made for the first who asks, what the program has. That is no use of the GPU yet.
fn register<T>(work: impl FnOnce(&mut Runtime) -> T) -> Result<T, Fault> {
    enter_for(false, |runtime| Ok(work(runtime)))
}

fn enter<T>(work: impl FnOnce(&mut Runtime) -> Result<T, Fault>) -> Result<T, Fault> {
    exit::note_use();
    enter_for(true, work)
}

fn enter_for<T>(
    is_use: bool,
    work: impl FnOnce(&mut Runtime) -> Result<T, Fault>,
) -> Result<T, Fault> {
    if exit::is_forked() {
        let message =
            "a child of fork cannot use CUDA, as with any GPU: start a new program instead";
        return Err(Fault::new(CudaError::INITIALIZATION, message));
    }
    if HOST_FUNCTION.get() {
        let message = "a function that a stream calls may not call CUDA";
        return Err(Fault::new(CudaError::NOT_PERMITTED, message));
    }
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*state, State::Fresh) {
        exit::watch_forks();
        *state = start();
    }
    match &mut *state {
        State::Ready(runtime) => {
            let result = work(runtime);
            let device = &mut runtime.device;
            let (text, notes) = (device.gpu.take_output(), device.gpu.take_notes());
            let found = device.take_new_findings();
            let kept = if is_use {
                runtime.keep_results()
            } else {
                Ok(())
            };
            drop(state);
            exit::note_kept(kept);
            print(&text);
            notes.iter().for_each(|note| complain("note", note));
            found.iter().for_each(|line| complain("check", line));
            match result {
                // What stopped the kernel was among them.
                Err(fault) if fault.sticky && !found.is_empty() => Err(Fault {
                    message: None,
                    ..fault
                }),
                result => result,
            }
        }
        _ => Err(Fault::silent(CudaError::INITIALIZATION)),
    }
}

fn start() -> State {
    let setting = match Setting::from_environment() {
        Ok(setting) => setting,
        Err(error) => {
            complain("start", &error.to_string());
            return State::Failed;
        }
    };
    // The results are for `pagemill cuda`: without it, the program has nothing to run for.
    if let Some(owner) = setting.results.as_deref().and_then(scratch::owner) {
        children::end_with(&owner);
    }
    match Runtime::new(setting) {
        Ok(mut runtime) => {
            *runtime.device.gpu.device_facts_mut() = device::facts(&runtime);
            State::Ready(Box::new(runtime))
        }
        Err(fault) => {
            complain("start", fault.message.as_deref().unwrap_or("no machine"));
            State::Failed
        }
    }
}

/// Shows what kernels printed where the program's own `printf` goes, in one order with it.
fn print(text: &str) {
    if text.is_empty() {
        return;
    }
    // SAFETY: every C library has this variable, of this type.
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: the C library's stream lives as long as the process; the text is as long as is said.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}

/// What the shims call for a function that pagemill does not have.
#[unsafe(no_mangle)]
extern "C" fn pagemill_unsupported(name: InText) -> i32 {
    guard("unsupported", || {
        let name = name.get()?;
        complain_once(
            name,
            "pagemill does not support this function; it returns the error \"not supported\" (801)",
        );
        Err(Fault::silent(CudaError::NOT_SUPPORTED))
    })
}

/// As [`pagemill_unsupported`], for the driver's library.
#[unsafe(no_mangle)]
extern "C" fn pagemill_unsupported_driver(name: InText) -> i32 {
    let last = LAST_ERROR.get();
    let code = pagemill_unsupported(name);
    LAST_ERROR.set(last);
    code
}

/// As [`complain`], for the first time that `function` is to blame.
fn complain_once(function: &str, message: &str) {
    static NAMED: OnceLock<Mutex<Vec<String>>> = OnceLock::new();
    let mut named = NAMED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !named.iter().any(|known| known == function) {
        named.push(function.to_owned());
        complain(function, message);
    }
}

// Not through `guard`, which would note the answer as a new error.
#[unsafe(export_name = "pagemill_cudaGetLastError")]
extern "C" fn get_last_error() -> i32 {
    let last = LAST_ERROR.get();
    if !is_of_lost_gpu(last) {
        LAST_ERROR.set(CudaError::SUCCESS);
    }
    last.0
}

#[unsafe(export_name = "pagemill_cudaPeekAtLastError")]
extern "C" fn peek_at_last_error() -> i32 {
    LAST_ERROR.get().0
}

/// Whether `own` is the error of a GPU that is lost, which stays once a call has returned it. A launch does not: the kernel
/// goes astray after it.
fn is_of_lost_gpu(own: CudaError) -> bool {
    let state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(&*state, State::Ready(runtime) if runtime.lost == Some(own))
}

#[unsafe(export_name = "pagemill_cudaGetErrorName")]
extern "C" fn error_name(code: i32) -> *const c_char {
    CudaError(code).name_for_c().as_ptr()
}

#[unsafe(export_name = "pagemill_cudaGetErrorString")]
extern "C" fn error_string(code: i32) -> *const c_char {
    CudaError(code).description_for_c().as_ptr()
}

/// A pointer of the program as an address.
fn address(pointer: *const c_void) -> u64 {
    pointer as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_unknown_error() {
        let code = guard("a test", || panic!("on purpose"));
        assert_eq!(code, CudaError::UNKNOWN.0);
        assert_eq!(get_last_error(), CudaError::UNKNOWN.0);
        assert_eq!(get_last_error(), CudaError::SUCCESS.0);
    }

    #[test]
    fn what_is_not_ready_is_no_error() {
        let not_ready = guard("a test", || Err(Fault::silent(CudaError::NOT_READY)));
        assert_eq!(not_ready, CudaError::NOT_READY.0);
        assert_eq!(peek_at_last_error(), CudaError::SUCCESS.0);
    }
}
