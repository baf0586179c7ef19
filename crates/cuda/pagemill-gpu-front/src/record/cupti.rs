//! The calls of CUPTI, which is loaded where it is wanted: no program needs it otherwise.

use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;

use super::layout::COUNTERS;

/// What a call of CUPTI returns.
type Code = i32;

const SUCCESS: Code = 0;
/// `cuptiActivityGetNextRecord` was at the last record.
const MAX_LIMIT_REACHED: Code = 12;
/// `cuptiActivityFlushAll` gives back buffers with unfinished records too.
const FORCED: u32 = 1;

/// Asked for a buffer: where it is, its bytes, and the most records in it, of which 0 is any number.
pub type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// Given a buffer back: a context and a stream, both of no meaning any more, the buffer, its bytes, and those in use.
pub type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Makes a text of a code.
type Describe = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;

/// `CUpti_ActivityUnifiedMemoryCounterConfig`.
#[repr(C)]
struct CounterConfig {
    scope: u32,
    kind: u32,
    device: u32,
    enable: u32,
}

/// All devices of the process.
const SCOPE: u32 = 2;

/// The function of this name in the library behind `handle`.
fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name ends with a zero byte, and a library that was loaded is never unloaded here.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    match found.is_null() {
        true => Err(format!("the library has no {}", name.to_string_lossy())),
        false => Ok(found),
    }
}

macro_rules! calls {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// A loaded CUPTI.
        pub struct Cupti {
            $($field: unsafe extern "C" fn($($argument),*) -> Code,)*
            /// Since CUDA 12.2.
            message: Option<Describe>,
        }

        impl Cupti {
            /// The calls of the library behind `handle`, which stays loaded.
            ///
            /// # Errors
            /// Names the call that it lacks.
            pub fn of(handle: *mut c_void) -> Result<Self, String> {
                let message = symbol(handle, c"cuptiGetErrorMessage").ok();
                Ok(Self {
                    $($field: {
                        let found = symbol(handle, $name)?;
                        // SAFETY: NVIDIA's headers declare the function of this name with these arguments in each version.
                        unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> Code>(found) }
                    },)*
                    // SAFETY: NVIDIA's headers declare it like `cuptiGetResultString`, where they have it.
                    message: message.map(|found| unsafe { mem::transmute::<*mut c_void, Describe>(found) }),
                })
            }
        }
    };
}

calls! {
    version = c"cuptiGetVersion" (*mut u32);
    result = c"cuptiGetResultString" (Code, *mut *const c_char);
    register = c"cuptiActivityRegisterCallbacks" (Request, Complete);
    configure = c"cuptiActivityConfigureUnifiedMemoryCounter" (*mut CounterConfig, u32);
    enable = c"cuptiActivityEnable" (u32);
    next = c"cuptiActivityGetNextRecord" (*mut u8, usize, *mut *mut u8);
    dropped = c"cuptiActivityGetNumDroppedRecords" (*mut c_void, u32, *mut usize);
    flush = c"cuptiActivityFlushAll" (u32);
}

/// Set once CUPTI takes our buffers.
pub static IN_USE: OnceLock<Cupti> = OnceLock::new();

/// What a call did, or the text that says that it failed.
pub type Done<T = ()> = Result<T, String>;

impl Cupti {
    pub fn version(&self) -> Done<u32> {
        let mut version = 0;
        // SAFETY: the number is there to be written.
        let code = unsafe { (self.version)(&mut version) };
        self.judge("cuptiGetVersion", code).map(|()| version)
    }

    /// Has CUPTI take its buffers from the first, and give them to the second.
    pub fn register(&self, request: Request, complete: Complete) -> Done {
        // SAFETY: both are functions of the declared types, and the library that they are in is never unloaded.
        let code = unsafe { (self.register)(request, complete) };
        self.judge("cuptiActivityRegisterCallbacks", code)
    }

    /// Chooses what records of managed memory are of.
    pub fn configure(&self) -> Done {
        let mut configs = COUNTERS.map(|kind| CounterConfig {
            scope: SCOPE,
            kind,
            device: 0,
            enable: 1,
        });
        // SAFETY: the array has as many elements as is said; CUPTI reads it, and keeps no pointer to it.
        let code = unsafe { (self.configure)(configs.as_mut_ptr(), configs.len() as u32) };
        self.judge("cuptiActivityConfigureUnifiedMemoryCounter", code)
    }

    /// Has records of this kind made.
    pub fn enable(&self, kind: u32) -> Done {
        // SAFETY: only a number is passed.
        let code = unsafe { (self.enable)(kind) };
        self.judge(&format!("cuptiActivityEnable of kind {kind}"), code)
    }

    /// Address of the record behind `last`, or of the first one if that is null; null behind the last one.
    ///
    /// # Safety
    /// `buffer` was given back by CUPTI with so many bytes in use, and `last` is null or what the call before returned.
    pub unsafe fn next(&self, buffer: *mut u8, bytes: usize, last: *mut u8) -> Done<*mut u8> {
        let mut record = last;
        // SAFETY: the caller promises what the call asks for.
        let code = unsafe { (self.next)(buffer, bytes, &mut record) };
        if code == MAX_LIMIT_REACHED {
            return Ok(ptr::null_mut());
        }
        self.judge("cuptiActivityGetNextRecord", code)
            .map(|()| record)
    }

    /// Records without room since the last call.
    pub fn dropped(&self) -> Done<u64> {
        let mut dropped = 0;
        // SAFETY: no context is a context here, and the number is there to be written.
        let code = unsafe { (self.dropped)(ptr::null_mut(), 0, &mut dropped) };
        self.judge("cuptiActivityGetNumDroppedRecords", code)
            .map(|()| dropped as u64)
    }

    /// Has all buffers given back.
    pub fn flush(&self) -> Done {
        // SAFETY: only a number is passed.
        let code = unsafe { (self.flush)(FORCED) };
        self.judge("cuptiActivityFlushAll", code)
    }

    fn judge(&self, call: &str, code: Code) -> Done {
        match code {
            SUCCESS => Ok(()),
            _ => Err(format!("{call}: {} ({code})", self.text(code))),
        }
    }

    /// CUPTI 12.9 knows no result string without a driver, but a message.
    fn text(&self, code: Code) -> String {
        let ways = [Some(self.result), self.message];
        let known = ways.into_iter().flatten().find_map(|describe| {
            let mut text = ptr::null();
            // SAFETY: the pointer is there to be written.
            unsafe { describe(code, &mut text) };
            // SAFETY: what CUPTI wrote is a constant string of its own.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
        });
        known.map_or("an error without text".into(), |text| {
            text.to_string_lossy().into_owned()
        })
    }
}
