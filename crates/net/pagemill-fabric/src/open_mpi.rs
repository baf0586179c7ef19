//! Gaps of Open MPI 4's component `mtl ofi`, closed from outside.
//!
//! * `MPI_Cancel` of a send reads a communicator that only receives have, and dies. Here such a send goes on, which MPI allows
//!   and Open MPI's other transports do.
//! * A synchronous send to a matched receive (`MPI_Mrecv`) is never acknowledged. The library tells the
//!   [process](crate::process::Process) which tags ask for an acknowledgment.
//! * A matched receive of a datatype with gaps leaves the message in a buffer that nothing unpacks.
//! * Before 4.1.6, a persistent or buffered send of a contiguous datatype, and a one-sided operation with one, starts at its buffer, not
//!   at the datatype's true lower bound: wrong bytes, and none at all from `MPI_BOTTOM`.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::behind::Behind;
use crate::process::{self, SyncTags, Unpack};

/// The tag bits of a synchronous send and of its acknowledgment, where the source travels as data (`ofi_tag_full`).
const SYNC_TAGS: SyncTags = SyncTags {
    message: 1 << 32,
    acknowledgment: 1 << 33,
};

/// The largest `MPI_MAX_LIBRARY_VERSION_STRING` of all libraries: MPICH's. Open MPI has 256.
const VERSION_BYTES: usize = 8192;

/// The first version that sends from the true lower bound.
const TRUE_BOUND_VERSION: [u32; 3] = [4, 1, 6];

type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Cancel = unsafe extern "C" fn(*mut MessageLayer, *mut c_void, c_int) -> c_int;
type MatchedReceive =
    unsafe extern "C" fn(*mut MessageLayer, *mut Convertor, *mut c_void, *mut c_void) -> c_int;
type UnpackPieces =
    unsafe extern "C" fn(*mut Convertor, *mut libc::iovec, *mut u32, *mut usize) -> i32;
type Send = unsafe extern "C" fn(
    *mut MessageLayer,
    *mut c_void,
    c_int,
    c_int,
    *mut Convertor,
    c_int,
) -> c_int;
type StartSend = unsafe extern "C" fn(
    *mut MessageLayer,
    *mut c_void,
    c_int,
    c_int,
    *mut Convertor,
    c_int,
    bool,
    *mut c_void,
) -> c_int;

/// Open MPI 4's `mca_mtl_base_module_t`.
#[repr(C)]
struct MessageLayer {
    max_context: c_int,
    max_tag: c_int,
    /// Bytes of a request of the layer behind its head.
    request_bytes: usize,
    flags: u32,
    /// Processes that come and go, and the end.
    processes: [usize; 3],
    send: usize,
    start_send: usize,
    /// Receives and probes.
    receives: [usize; 2],
    matched_receive: usize,
    matched_probe: usize,
    cancel: usize,
}

/// The beginning of Open MPI 4's `opal_convertor_t`, as built without debugging.
#[repr(C)]
struct Convertor {
    object: [usize; 2],
    architecture: u32,
    flags: u32,
    local_bytes: usize,
    remote_bytes: usize,
    datatype: *const Datatype,
    description: *const c_void,
    count: usize,
    stack_bytes: u32,
    base: *mut u8,
}

/// The beginning of Open MPI 4's `opal_datatype_t`, as built without debugging.
#[repr(C)]
struct Datatype {
    object: [usize; 2],
    flags: u16,
    id: u16,
    basic: u32,
    bytes: usize,
    true_lower_bound: isize,
}

/// Flags of convertors: all is converted.
const COMPLETED: u32 = 0x0800_0000;
/// Flags of convertors: prepared for a send.
const PREPARED: u32 = 0x0004_0000;
/// Flags of convertors: the sender's architecture is this one.
const HOMOGENEOUS: u32 = 0x0008_0000;
/// Flags of datatypes.
const CONTIGUOUS: u16 = 0x10;
const WITHOUT_GAPS: u16 = 0x20;

thread_local! {
    /// How the matched receive that this thread is posting unpacks its message.
    static UNPACK: Cell<Option<Unpack>> = const { Cell::new(None) };
}

/// Bytes of the head of a request of the layer: `mca_mtl_request_t`.
const REQUEST_HEAD_BYTES: usize = 16;

static LIBRARY_VERSION: Behind = Behind::new(c"MPI_Get_library_version");
static MESSAGE_LAYER: Behind = Behind::new(c"ompi_mtl");

/// Open MPI's own functions.
static CANCEL: AtomicUsize = AtomicUsize::new(0);
static MATCHED_RECEIVE: AtomicUsize = AtomicUsize::new(0);
static UNPACK_PIECES: Behind = Behind::new(c"opal_convertor_unpack");
static SEND: AtomicUsize = AtomicUsize::new(0);
static START_SEND: AtomicUsize = AtomicUsize::new(0);

/// Closes the gaps, if the process uses this layer of Open MPI 4. Called before the program's own calls.
pub fn mend() {
    let text = version_text().unwrap_or_default();
    let Some(version) = version_of(&text).filter(|version| version[0] == 4) else {
        return;
    };
    let place: *mut *mut MessageLayer = MESSAGE_LAYER.find().cast();
    // SAFETY: Open MPI's variable of this name is a pointer to its layer, null where it uses another one. It is not
    // read by other threads before `MPI_Init` returns to the program.
    let layer = unsafe { place.as_ref().and_then(|layer| layer.as_mut()) };
    let Some(layer) = layer.filter(|layer| layer.cancel != 0) else {
        return;
    };
    let Some(()) = process::lock()
        .as_mut()
        .map(|process| process.acknowledge_claims(SYNC_TAGS))
    else {
        return;
    };
    replace(&mut layer.cancel, &CANCEL, cancel as *const c_void);
    replace(
        &mut layer.matched_receive,
        &MATCHED_RECEIVE,
        matched_receive as *const c_void,
    );
    if version < TRUE_BOUND_VERSION {
        replace(&mut layer.send, &SEND, send as *const c_void);
        replace(
            &mut layer.start_send,
            &START_SEND,
            start_send as *const c_void,
        );
    }
}

/// Puts our function into Open MPI's table, and keeps its own.
fn replace(place: &mut usize, own: &AtomicUsize, ours: *const c_void) {
    let ours = ours.expose_provenance();
    if *place != ours {
        own.store(*place, Ordering::Relaxed);
        *place = ours;
    }
}

fn behind(own: &AtomicUsize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(own.load(Ordering::Relaxed))
}

/// What the program's MPI library says of itself; a program may ask before `MPI_Init`.
pub fn version_text() -> Option<String> {
    let function = LIBRARY_VERSION.find();
    if function.is_null() {
        return None;
    }
    let mut text = vec![0 as c_char; VERSION_BYTES];
    let mut bytes = 0;
    // SAFETY: MPI's function of this name has this type, `text` has the length that every library is content with, and
    // it ends what it writes with a zero.
    let text = unsafe {
        std::mem::transmute::<*mut c_void, Version>(function)(text.as_mut_ptr(), &raw mut bytes);
        CStr::from_ptr(text.as_ptr())
    };
    Some(text.to_string_lossy().into_owned())
}

/// The numbers in a text such as `Open MPI v4.1.4, package: ...`.
pub fn version_of(text: &str) -> Option<[u32; 3]> {
    let numbers = text.strip_prefix("Open MPI v")?;
    let digits = |word: &str| -> Option<u32> {
        let end = word.find(|c: char| !c.is_ascii_digit());
        word[..end.unwrap_or(word.len())].parse().ok()
    };
    let mut words = numbers.splitn(3, '.').map(digits);
    Some([words.next()??, words.next()??, words.next()??])
}

unsafe extern "C" fn send(
    layer: *mut MessageLayer,
    communicator: *mut c_void,
    dest: c_int,
    tag: c_int,
    convertor: *mut Convertor,
    mode: c_int,
) -> c_int {
    // SAFETY: the function that stood in Open MPI's table has this type; its caller's promises are passed on.
    unsafe {
        from_true_bound(convertor, || {
            let send = std::mem::transmute::<*mut c_void, Send>(behind(&SEND));
            send(layer, communicator, dest, tag, convertor, mode)
        })
    }
}

unsafe extern "C" fn start_send(
    layer: *mut MessageLayer,
    communicator: *mut c_void,
    dest: c_int,
    tag: c_int,
    convertor: *mut Convertor,
    mode: c_int,
    is_blocking: bool,
    request: *mut c_void,
) -> c_int {
    // SAFETY: `START_SEND` stood in this place of Open MPI's table, and so has this type; it gets the arguments of its own caller.
    unsafe {
        from_true_bound(convertor, || {
            let send = std::mem::transmute::<*mut c_void, StartSend>(behind(&START_SEND));
            send(
                layer,
                communicator,
                dest,
                tag,
                convertor,
                mode,
                is_blocking,
                request,
            )
        })
    }
}

/// Moves the start of what is sent as it is to where it really starts, while `send` reads it.
///
/// # Safety
/// Open MPI hands the convertor to a send.
unsafe fn from_true_bound(convertor: *mut Convertor, send: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise. A persistent request uses its convertor again, so the change is taken back; only this
    // thread uses it now.
    unsafe {
        let start = (*convertor).base;
        if let Some(datatype) = (*convertor).datatype.as_ref() {
            let is_whole = (*convertor).count == 1 || datatype.flags & WITHOUT_GAPS != 0;
            // Others are made by hand in `pml cm`, with the bound added.
            let is_prepared = (*convertor).flags & (PREPARED | COMPLETED) == PREPARED;
            let is_sent_as_it_is = is_prepared && datatype.flags & CONTIGUOUS != 0 && is_whole;
            if is_sent_as_it_is {
                (*convertor).base = start.wrapping_offset(datatype.true_lower_bound);
            }
        }
        let result = send();
        (*convertor).base = start;
        result
    }
}

/// How the matched receive that this thread is posting unpacks its message, if Open MPI does not.
pub fn take_unpack() -> Option<Unpack> {
    UNPACK.take()
}

unsafe extern "C" fn matched_receive(
    layer: *mut MessageLayer,
    convertor: *mut Convertor,
    message: *mut c_void,
    request: *mut c_void,
) -> c_int {
    // SAFETY: Open MPI hands the convertor of the receive, which lives until the receive is complete; the function that stood in
    // Open MPI's table has this type.
    unsafe {
        if has_gaps(&*convertor) && !UNPACK_PIECES.find().is_null() {
            UNPACK.set(Some(unpack_with(convertor)));
        }
        let behind = behind(&MATCHED_RECEIVE);
        let receive = std::mem::transmute::<*mut c_void, MatchedReceive>(behind);
        let result = receive(layer, convertor, message, request);
        UNPACK.set(None);
        result
    }
}

/// Whether Open MPI receives into a buffer of its own: its `opal_convertor_need_buffers`.
fn has_gaps(convertor: &Convertor) -> bool {
    let is_of = |flag: u16| convertor.flags & u32::from(flag) != 0;
    let is_whole = is_of(WITHOUT_GAPS) || (convertor.count == 1 && is_of(CONTIGUOUS));
    convertor.flags & HOMOGENEOUS == 0 || !is_whole
}

/// Unpacks a message as Open MPI's other receives do.
///
/// # Safety
/// The convertor lives until the receive is complete.
unsafe fn unpack_with(convertor: *mut Convertor) -> Unpack {
    let convertor = convertor.expose_provenance();
    Box::new(move |bytes: &[u8]| {
        let convertor = std::ptr::with_exposed_provenance_mut(convertor);
        let mut piece = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let (mut pieces, mut unpacked) = (1, bytes.len());
        // SAFETY: Open MPI's function of this name has this type, and reads the piece; the receive is not complete yet.
        unsafe {
            let unpack = std::mem::transmute::<*mut c_void, UnpackPieces>(UNPACK_PIECES.find());
            unpack(
                convertor,
                &raw mut piece,
                &raw mut pieces,
                &raw mut unpacked,
            );
        }
    })
}

/// Takes back a receive that is still posted. Whatever else the request is, it goes on.
unsafe extern "C" fn cancel(layer: *mut MessageLayer, request: *mut c_void, flag: c_int) -> c_int {
    // SAFETY: Open MPI hands its layer, which is the one that `mend` has seen.
    let bytes = REQUEST_HEAD_BYTES + unsafe { (*layer).request_bytes };
    let contexts = request.addr()..request.addr() + bytes;
    let is_posted = process::lock()
        .as_ref()
        .is_some_and(|process| process.has_receive(contexts));
    if !is_posted {
        return 0;
    }
    // SAFETY: the function that stood in Open MPI's table has this type; its caller's promises are passed on.
    unsafe { std::mem::transmute::<*mut c_void, Cancel>(behind(&CANCEL))(layer, request, flag) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_open_mpi_says() {
        let text = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
        assert_eq!(version_of(text), Some([4, 1, 4]));
        assert_eq!(version_of("Open MPI v5.0.0rc7, package"), Some([5, 0, 0]));
        assert_eq!(version_of("MPICH Version: 4.0.2"), None);
        assert_eq!(version_of("Open MPI v4"), None);
    }
}
