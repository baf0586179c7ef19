//! The border to the browser: text in memory that both sides see.
//!
//! An argument is written to memory of [`pagemill_allocate`]. A result is a length of four bytes, lowest
//! first, and as many bytes of UTF-8 behind it; it stays until the next call.

use std::cell::RefCell;
use std::sync::Arc;

use crate::{answer, catalog};

unsafe extern "C" {
    /// Shows which share of the run is done, from 0 to 1.
    safe fn pagemill_progress(share: f64);
    /// Shows a message of a defect, after which the module is of no more use.
    fn pagemill_failed(text: *const u8, bytes: usize);
}

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a text of `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_allocate(bytes: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; bytes];
        input.as_mut_ptr()
    })
}

/// Runs the scenario in the memory of [`pagemill_allocate`].
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_answer() -> *const u8 {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the text lives until the call has ended, and the browser only reads it.
        unsafe { pagemill_failed(text.as_ptr(), text.len()) };
    }));
    let text = INPUT.take();
    give(&answer(
        &String::from_utf8_lossy(&text),
        Arc::new(|share| pagemill_progress(share)),
    ))
}

/// Lists what a scenario can name.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_catalog() -> *const u8 {
    give(&catalog())
}

fn give(text: &str) -> *const u8 {
    OUTPUT.with_borrow_mut(|output| {
        output.clear();
        output.extend((text.len() as u32).to_le_bytes());
        output.extend(text.as_bytes());
        output.as_ptr()
    })
}
