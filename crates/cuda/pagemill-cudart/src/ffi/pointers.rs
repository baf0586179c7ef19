//! Pointers that the program passes, as parameters of border functions. They are C's pointers to the machine; what CUDA
//! demands of the program for each is said once, by the type, and the uses need no `unsafe`.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use crate::error::Fault;

/// Result of a border function.
pub(super) type Done = Result<(), Fault>;

pub(super) fn null() -> Fault {
    Fault::invalid("a pointer that is needed is null")
}

/// Where the program wants a result: null, or room for a `T` for the time of the call.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct OutPtr<'call, T> {
    place: *mut T,
    call: PhantomData<&'call mut T>,
}

impl<T> OutPtr<'_, T> {
    pub(super) const NULL: Self = Self {
        place: std::ptr::null_mut(),
        call: PhantomData,
    };

    /// # Safety
    /// `place` is null, or room for a `T` that no reference is to, until the last `put`.
    pub(super) unsafe fn new(place: *mut T) -> Self {
        Self {
            place,
            call: PhantomData,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.place.is_null()
    }

    /// That the program has room for the result, for calls that must do nothing where it has none.
    pub(super) fn needed(&self) -> Done {
        if self.is_null() { Err(null()) } else { Ok(()) }
    }

    /// Writes a result that the program has to have room for.
    pub(super) fn put(self, value: T) -> Done {
        self.needed()?;
        self.put_if_wanted(value);
        Ok(())
    }

    /// Writes a result that a program refuses with null.
    pub(super) fn put_if_wanted(self, value: T) {
        if !self.is_null() {
            // SAFETY: CUDA demands of the program that a place that is not null is room for a `T` until the call is over,
            // which `'call` does not outlive. No alignment is asked of it.
            unsafe { self.place.write_unaligned(value) };
        }
    }
}

impl<'call, T> From<&'call mut T> for OutPtr<'call, T> {
    fn from(place: &'call mut T) -> Self {
        Self {
            place,
            call: PhantomData,
        }
    }
}

/// Where the program has an argument: null, or a `T` that stays as it is for the time of the call.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct InPtr<'call, T> {
    place: *const T,
    call: PhantomData<&'call T>,
}

impl<T: Copy> InPtr<'_, T> {
    pub(super) fn is_null(&self) -> bool {
        self.place.is_null()
    }

    pub(super) fn read(self) -> Result<T, Fault> {
        if self.is_null() {
            return Err(null());
        }
        // SAFETY: CUDA demands of the program that a pointer to an argument, where it is not null, points to a whole one
        // until the call is over; one without alignment will do.
        Ok(unsafe { self.place.read_unaligned() })
    }
}

impl<'call, T> From<&'call T> for InPtr<'call, T> {
    fn from(place: &'call T) -> Self {
        Self {
            place,
            call: PhantomData,
        }
    }
}

/// A string of the program: null, or bytes up to a NUL that stay for the time of the call.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct InText<'call>(*const c_char, PhantomData<&'call c_char>);

impl<'call> InText<'call> {
    pub(super) fn get(self) -> Result<&'call str, Fault> {
        if self.0.is_null() {
            return Err(null());
        }
        // SAFETY: CUDA demands of the program that a name which is not null ends with a NUL, and is not changed until the
        // call is over; the text that is borrowed from it does not outlive `'call`.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str()
            .map_err(|_| Fault::invalid("a name is no UTF-8"))
    }
}
