//! Completion queues.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::abi::errno::*;
use super::abi::*;
use super::objects::{Table, UNSUPPORTED, free, give, no_bind, no_control, no_ops};
use super::vector::Vector;
use crate::process::{self, Entry, QueueId};
use crate::station::{Kind, Status};

/// A completion queue.
#[repr(C)]
pub struct Queue {
    handle: fid_cq,
    id: Mutex<Option<QueueId>>,
    format: c_int,
    /// Entries that `fi_cq_read` has met and left to `fi_cq_readerr`.
    failed: Mutex<VecDeque<Entry>>,
    /// For `fi_cq_readfrom`: the vector of an endpoint that is bound to this queue.
    vector: Mutex<Option<usize>>,
}

impl Queue {
    /// The queue of the process behind the handle. It is made at the first use, as there is no process before an endpoint.
    pub fn id(&self, process: &mut process::Process) -> QueueId {
        let mut id = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        *id.get_or_insert_with(|| process.open_queue())
    }

    /// Remembers the vector that sources are looked up in.
    pub fn set_vector(&self, vector: *const Vector) {
        *self.vector.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(vector.expose_provenance());
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, VecDeque<Entry>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static OPS: Table<fi_ops> = Table(fi_ops {
    size: size_of::<fi_ops>(),
    close,
    bind: no_bind,
    control: no_control,
    ops_open: no_ops,
    tostr: None,
    ops_set: None,
});

static QUEUE_OPS: Table<fi_ops_cq> = Table(fi_ops_cq {
    size: size_of::<fi_ops_cq>(),
    read,
    readfrom,
    readerr,
    sread,
    sreadfrom,
    signal: UNSUPPORTED,
    strerror,
});

/// # Safety
/// As libfabric calls it.
pub unsafe extern "C" fn open(
    _: *mut fid_domain,
    attr: *mut fi_cq_attr,
    queue: *mut *mut fid_cq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: null or valid, and a place for the result, by libfabric's contract.
    unsafe {
        let format = attr
            .as_ref()
            .map_or(FI_CQ_FORMAT_UNSPEC, |attr| attr.format);
        let made = give(Queue {
            handle: fid_cq {
                fid: fid {
                    fclass: FI_CLASS_CQ,
                    context,
                    ops: &OPS.0,
                },
                ops: &QUEUE_OPS.0,
            },
            id: Mutex::new(None),
            format: if format == FI_CQ_FORMAT_UNSPEC {
                FI_CQ_FORMAT_CONTEXT
            } else {
                format
            },
            failed: Mutex::new(VecDeque::new()),
            vector: Mutex::new(None),
        });
        if let Some(attr) = attr.as_mut() {
            attr.format = (*made).format;
        }
        *queue = made.cast();
    }
    0
}

unsafe extern "C" fn close(handle: *mut fid) -> c_int {
    // SAFETY: our own handle, closed once.
    unsafe {
        let queue = &*handle.cast::<Queue>();
        let id = queue
            .id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let (Some(process), Some(id)) = (process::lock().as_mut(), id) {
            process.close_queue(id);
        }
        free::<Queue>(handle);
    }
    0
}

fn entry_bytes(format: c_int) -> usize {
    match format {
        FI_CQ_FORMAT_MSG => 24,
        FI_CQ_FORMAT_DATA => 40,
        FI_CQ_FORMAT_TAGGED => 48,
        _ => 8,
    }
}

unsafe extern "C" fn read(queue: *mut fid_cq, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: `readfrom` without sources has the same contract.
    unsafe { readfrom(queue, buffer, count, std::ptr::null_mut()) }
}

unsafe extern "C" fn readfrom(
    queue: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut u64,
) -> isize {
    // SAFETY: our own handle.
    let queue = unsafe { &*queue.cast::<Queue>() };
    if !queue.failed().is_empty() {
        return code(FI_EAVAIL);
    }
    if process::is_idle_poll() {
        return code(FI_EAGAIN);
    }
    let mut process = process::lock();
    let Some(process) = process.as_mut() else {
        return code(FI_EAGAIN);
    };
    let id = queue.id(process);
    let mut read = 0;
    while read < count {
        // Only what is visible at the same time is read together.
        if read > 0 && process.front(id).is_none() {
            break;
        }
        let Some(entry) = process.read(id) else {
            break;
        };
        if entry.is_no_message || entry.outcome.status != Status::Success {
            queue.failed().push_back(entry);
            break;
        }
        // SAFETY: the caller has room for `count` entries of the queue's format, and sources if it wants them.
        unsafe {
            let place = buffer.cast::<u8>().add(read * entry_bytes(queue.format));
            put(&entry, queue.format, place);
            if !sources.is_null() {
                *sources.add(read) = source_of(queue, &entry);
            }
        }
        read += 1;
    }
    match read {
        0 if !queue.failed().is_empty() => code(FI_EAVAIL),
        0 => code(FI_EAGAIN),
        read => read as isize,
    }
}

use super::code;

unsafe fn source_of(queue: &Queue, entry: &Entry) -> u64 {
    let vector = *queue.vector.lock().unwrap_or_else(PoisonError::into_inner);
    match (entry.kind, vector) {
        (Kind::Receive, Some(vector)) => {
            let vector = std::ptr::with_exposed_provenance::<Vector>(vector);
            // SAFETY: libfabric does not let a vector be closed before the endpoint that is bound to it.
            unsafe { (*vector).number_of(entry.outcome.source) }
        }
        _ => FI_ADDR_UNSPEC,
    }
}

fn flags_of(entry: &Entry) -> u64 {
    let kind = match entry.kind {
        Kind::Send => FI_SEND,
        Kind::Receive => FI_RECV,
        Kind::Write => FI_WRITE | FI_RMA,
        Kind::Read => FI_READ | FI_RMA,
    };
    let message = match (entry.kind, entry.is_tagged) {
        (Kind::Send | Kind::Receive, true) => FI_TAGGED,
        (Kind::Send | Kind::Receive, false) => FI_MSG,
        _ => 0,
    };
    let data = entry.outcome.data.map_or(0, |_| FI_REMOTE_CQ_DATA);
    kind | message | data
}

fn full_entry(entry: &Entry) -> fi_cq_tagged_entry {
    fi_cq_tagged_entry {
        op_context: std::ptr::with_exposed_provenance_mut(entry.context),
        flags: flags_of(entry),
        len: entry.outcome.bytes as usize,
        buf: std::ptr::with_exposed_provenance_mut(entry.address as usize),
        data: entry.outcome.data.unwrap_or(0),
        tag: entry.outcome.tag,
    }
}

/// Every format is the beginning of the longest.
unsafe fn put(entry: &Entry, format: c_int, place: *mut u8) {
    let full = full_entry(entry);
    // SAFETY: the caller's promise of room for one entry of the format.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const full).cast::<u8>(), place, entry_bytes(format))
    }
}

unsafe extern "C" fn readerr(queue: *mut fid_cq, error: *mut fi_cq_err_entry, _: u64) -> isize {
    // SAFETY: our own handle, and a place for the error.
    unsafe {
        let queue = &*queue.cast::<Queue>();
        let Some(entry) = queue.failed().pop_front() else {
            return code(FI_EAGAIN);
        };
        let full = full_entry(&entry);
        let failed = &mut *error;
        failed.op_context = full.op_context;
        failed.flags = full.flags;
        failed.len = full.len;
        failed.buf = full.buf;
        failed.data = full.data;
        failed.tag = full.tag;
        failed.olen = (entry.outcome.sent_bytes.saturating_sub(entry.outcome.bytes)) as usize;
        failed.err = error_number(&entry);
        failed.prov_errno = failed.err;
        failed.err_data_size = 0;
    }
    1
}

fn error_number(entry: &Entry) -> c_int {
    if entry.is_no_message {
        return FI_ENOMSG;
    }
    match entry.outcome.status {
        Status::Success => 0,
        Status::Truncated => FI_ETRUNC,
        Status::Canceled => FI_ECANCELED,
        Status::Unregistered | Status::WrongKey => FI_EKEYREJECTED,
        Status::OutOfBounds => FI_EREMOTEIO,
        Status::ForeignPort => FI_EACCES,
    }
}

unsafe extern "C" fn sread(
    queue: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    _: *const c_void,
    timeout_ms: c_int,
) -> isize {
    // SAFETY: the same contract, and no sources.
    unsafe {
        sreadfrom(
            queue,
            buffer,
            count,
            std::ptr::null_mut(),
            std::ptr::null(),
            timeout_ms,
        )
    }
}

unsafe extern "C" fn sreadfrom(
    queue: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut u64,
    _: *const c_void,
    timeout_ms: c_int,
) -> isize {
    let until = u64::try_from(timeout_ms)
        .ok()
        .map(|timeout| Instant::now() + Duration::from_millis(timeout));
    loop {
        // SAFETY: the same contract.
        let read = unsafe { readfrom(queue, buffer, count, sources) };
        let is_late = until.is_some_and(|until| Instant::now() >= until);
        if read != code(FI_EAGAIN) || is_late {
            return read;
        }
        std::thread::yield_now();
    }
}

unsafe extern "C" fn strerror(
    _: *mut fid_cq,
    error: c_int,
    _: *const c_void,
    _: *mut c_char,
    _: usize,
) -> *const c_char {
    let text = match error {
        FI_ENOMSG => c"there is no such message",
        FI_ETRUNC => c"the message is longer than the buffer",
        FI_ECANCELED => c"the operation was canceled",
        _ => c"the network interface refused the operation",
    };
    text.as_ptr()
}
