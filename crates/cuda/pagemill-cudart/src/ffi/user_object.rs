//! User objects: things of the program that graphs keep alive.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use super::work::HostFunction;
use super::{Done, OutPtr, address, api, null, with_runtime};
use crate::error::Fault;

/// Handles of user objects are their numbers with this added.
const HANDLE_BASE: u64 = 0x71 << 56;

/// `cudaGraphUserObjectMove`: the graph takes the references over.
const MOVE: c_uint = 1;

struct Object {
    data: u64,
    destroy: HostFunction,
    references: u64,
}

#[derive(Default)]
struct Objects {
    live: BTreeMap<u64, Object>,
    made: u64,
    /// References of each graph, and of each executable graph.
    held: BTreeMap<u64, Vec<(u64, u64)>>,
}

static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);

fn with_objects<T>(work: impl FnOnce(&mut Objects) -> T) -> T {
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    work(objects.get_or_insert_default())
}

fn unknown(object: u64) -> Fault {
    let message = format!("{object:#x} is no user object with so many references");
    Fault::invalid(message)
}

impl Objects {
    fn retain(&mut self, object: u64, count: u64) -> Done {
        let found = self.live.get_mut(&object).ok_or_else(|| unknown(object))?;
        found.references += count;
        Ok(())
    }

    /// Gives up references; the object if they were the last.
    fn release(&mut self, object: u64, count: u64) -> Result<Option<Object>, Fault> {
        let found = self.live.get_mut(&object).ok_or_else(|| unknown(object))?;
        let left = found.references.checked_sub(count);
        found.references = left.ok_or_else(|| unknown(object))?;
        match found.references {
            0 => Ok(self.live.remove(&object)),
            _ => Ok(None),
        }
    }
}

/// Calls the destructor, while no lock is held.
fn destroy(gone: Option<Object>) {
    if let Some(object) = gone {
        (object.destroy)(object.data as *mut c_void);
    }
}

fn release(object: u64, count: u64) -> Done {
    destroy(with_objects(|objects| objects.release(object, count))?);
    Ok(())
}

/// What the graph `from` keeps alive is also kept by `to`, which was made of it.
pub(super) fn inherit(from: u64, to: u64) {
    with_objects(|objects| {
        let held = objects.held.get(&from).cloned().unwrap_or_default();
        for &(object, count) in &held {
            // Whatever is held is alive.
            let _ = objects.retain(object, count);
        }
        if !held.is_empty() {
            objects.held.insert(to, held);
        }
    });
}

/// A graph, or an executable one, is gone.
pub(super) fn forget(holder: u64) {
    let held = with_objects(|objects| objects.held.remove(&holder)).unwrap_or_default();
    for (object, count) in held {
        // Whatever is held is alive.
        let _ = release(object, count);
    }
}

fn check_graph(graph: *mut c_void) -> Result<u64, Fault> {
    with_runtime(|runtime| runtime.graphs.graph(address(graph)).map(|_| ()))?;
    Ok(address(graph))
}

api! {
    fn cudaUserObjectCreate(to: OutPtr<*mut c_void>, data: *mut c_void, destroy: Option<HostFunction>, references: c_uint, _flags: c_uint) {
        let destroy = destroy.ok_or_else(null)?;
        if to.is_null() || references == 0 {
            return Err(null());
        }
        let handle = with_objects(|objects| {
            objects.made += 1;
            let handle = HANDLE_BASE + objects.made;
            let (data, references) = (address(data), references.into());
            objects.live.insert(handle, Object { data, destroy, references });
            handle
        });
        to.put(handle as *mut c_void)
    }

    fn cudaUserObjectRelease(object: *mut c_void, count: c_uint) {
        release(address(object), count.into())
    }

    fn cudaGraphRetainUserObject(graph: *mut c_void, object: *mut c_void, count: c_uint, flags: c_uint) {
        let (graph, object, count) = (check_graph(graph)?, address(object), u64::from(count));
        with_objects(|objects| {
            // With `MOVE`, the caller's references become those of the graph.
            objects.retain(object, if flags & MOVE == 0 { count } else { 0 })?;
            objects.held.entry(graph).or_default().push((object, count));
            Ok(())
        })
    }
}
