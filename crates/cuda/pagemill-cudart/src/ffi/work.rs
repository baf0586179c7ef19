//! Work that streams do in its turn: now, or, in a captured stream, whenever the graph that notes it is launched.

use std::ffi::c_void;

use super::waiter::{note_waiting, settle};
use super::{Done, address, copy, with_runtime, with_runtime_for};
use crate::error::{CudaError, Fault};
use crate::runtime::{Conditional, Moment, Runtime, Step, StreamId, Turn, Work};

pub(super) type HostFunction = extern "C" fn(*mut c_void);

/// Whether the host waits for the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Yes,
    No,
}

/// The stream of a handle, once the host may go on with work there for whose end it waits.
pub(super) fn turn_of(stream: *mut c_void, wait: Wait) -> Result<StreamId, Fault> {
    let stream = StreamId(address(stream));
    if wait == Wait::Yes {
        settle(Turn::Stream(stream))?;
    }
    Ok(stream)
}

/// Does `work` in `stream`, or notes it, or holds it back behind a kernel that waits.
///
/// # Safety
/// What the runtime does not know of a copy's spans is memory of the program, also when the work is done later.
pub(super) unsafe fn submit(
    runtime: &mut Runtime,
    stream: StreamId,
    work: Work,
    wait: Wait,
) -> Done {
    if wait == Wait::Yes {
        runtime
            .graphs
            .not_while_capturing(stream, "waiting for work")?;
    }
    if runtime.graphs.is_capturing(stream) {
        return runtime.graphs.note(stream, work);
    }
    runtime.graphs.not_while_capturing(stream, "work")?;
    if runtime.streams.is_held(stream) {
        if wait == Wait::No && runtime.can_hold(&work) {
            // SAFETY: a stream's work is over before the program gives up the memory that its copies and fills name.
            unsafe { runtime.hold(stream, work, perform_held) };
            return Ok(());
        }
        runtime.settle_alone(Turn::Stream(stream))?;
    }
    // SAFETY: what the runtime does not know of the spans of `work` is memory of the program, as `submit` demands.
    unsafe { perform(runtime, stream, &work)? };
    if runtime.streams.has_waiting() {
        note_waiting();
    }
    match wait {
        Wait::Yes => runtime.synchronize_stream(stream),
        Wait::No => Ok(()),
    }
}

/// Does `work` in `stream`, except functions of the host, which must not run while the runtime is locked.
///
/// # Safety
/// As [`submit`].
unsafe fn perform(runtime: &mut Runtime, stream: StreamId, work: &Work) -> Done {
    match work {
        // SAFETY: both spans are memory that the runtime knows, or that the program has until its stream has done the copy.
        Work::Copy(plan, kind) => unsafe { copy::copy(runtime, plan, *kind, stream) },
        Work::Fill(span, extent, element) => copy::fill(runtime, span, extent, element, stream),
        _ => runtime.do_own(stream, work).unwrap_or(Ok(())),
    }
}

/// Does work that was held back, functions of the host too: those may not call CUDA.
fn perform_held(runtime: &mut Runtime, stream: StreamId, work: &Work) -> Done {
    if let Work::Host(function, data) = work {
        // SAFETY: the program gave this address as that of such a function.
        let function: HostFunction = unsafe { std::mem::transmute(*function as usize) };
        super::within_host_function(|| function(*data as *mut c_void));
        return Ok(());
    }
    // SAFETY: the program promised as much when it put the work into its stream.
    unsafe { perform(runtime, stream, work) }
}

/// Calls a function of the program in its turn in `stream`, or notes it, or holds it back.
pub(super) fn call_host(stream: StreamId, function: HostFunction, data: *mut c_void) -> Done {
    let later = with_runtime(|runtime| {
        runtime.streams.is_non_blocking(stream)?;
        let work = Work::Host(function as usize as u64, address(data));
        if runtime.graphs.is_capturing(stream) {
            return runtime.graphs.note(stream, work).map(|()| true);
        }
        let is_held = runtime.streams.is_held(stream);
        if is_held {
            // SAFETY: this is no copy.
            unsafe { runtime.hold(stream, work, perform_held) };
        }
        Ok(is_held)
    })?;
    if !later {
        // Everything before it in the stream has had its effect.
        super::register(|runtime| {
            if let Ok(moment) = runtime.streams.start(stream) {
                runtime.host_function_begins(&moment);
            }
        })?;
        function(data);
        super::register(Runtime::host_function_ended)?;
    }
    Ok(())
}

/// Does all of an executable graph in `stream`, or notes it.
///
/// # Safety
/// As [`submit`], of all its work.
pub(super) unsafe fn launch_graph(executable: u64, stream: StreamId) -> Result<(), Fault> {
    settle(Turn::Stream(stream))?;
    let (steps, start) = with_runtime(|runtime| {
        runtime
            .graphs
            .not_while_capturing(stream, "launching a graph")?;
        let start = runtime.streams.start(stream)?;
        let steps = runtime.graphs.steps(executable)?.clone();
        runtime
            .graphs
            .begin_conditionals(&mut runtime.device.gpu, &steps);
        Ok((steps, start))
    })?;
    // SAFETY: the program keeps what the nodes of its graph name until the graph has run.
    let end = unsafe { run_steps(&steps, start)? };
    with_runtime(|runtime| runtime.streams.wait_for(stream, &end))
}

/// Does `steps` from `start` on; returns when the last is done.
///
/// # Safety
/// As [`submit`], of all their work.
unsafe fn run_steps(steps: &[Step], start: Moment) -> Result<Moment, Fault> {
    let mut ends: Vec<Moment> = Vec::with_capacity(steps.len());
    for step in steps {
        let at = step
            .after
            .iter()
            .map(|&earlier| &ends[earlier])
            .fold(start.clone(), Moment::join);
        // SAFETY: the work is one of `steps`, which name memory that the program has until the last is done.
        ends.push(unsafe { run_step(&step.work, at)? });
    }
    Ok(ends.iter().fold(start, Moment::join))
}

/// # Safety
/// As [`submit`].
unsafe fn run_step(work: &Work, at: Moment) -> Result<Moment, Fault> {
    match work {
        Work::Host(function, data) => {
            // SAFETY: the program gave this address as that of such a function.
            let function: HostFunction = unsafe { std::mem::transmute(*function as usize) };
            super::register(|runtime| runtime.host_function_begins(&at))?;
            function(*data as *mut c_void);
            super::register(Runtime::host_function_ended)?;
            return Ok(at);
        }
        // SAFETY: the bodies are graphs of the program too, and name memory that it has until they are done.
        Work::Conditional(node) => return unsafe { run_conditional(node, at) },
        _ => {}
    }
    let step_done = |runtime: &mut Runtime| {
        runtime.do_step(at, |runtime, lane| {
            // SAFETY: the memory that `work` names is the program's until the graph is done, of which this step is a part.
            unsafe { perform(runtime, lane, work) }
        })
    };
    match work {
        Work::Kernel(key, ..) => with_runtime_for(*key, step_done),
        _ => with_runtime(step_done),
    }
}

/// Does the body that the value of a conditional node chooses, as often as it does.
///
/// # Safety
/// As [`submit`].
unsafe fn run_conditional(node: &Conditional, at: Moment) -> Result<Moment, Fault> {
    let mut end = at;
    while let Some(body) = with_runtime(|runtime| Ok(runtime.device.chosen_body(node)))? {
        if node.repeats() && !node.may_end() {
            let message = "the body of a while node has no kernel that could end it";
            // As a kernel that does not end: the GPU is lost.
            return with_runtime(|_| Err(Fault::sticky(CudaError::LAUNCH_TIMEOUT, message)));
        }
        // SAFETY: the body belongs to the node, and names memory that the program has until the graph is done.
        end = unsafe { run_steps(&body, end)? };
        if !node.repeats() {
            break;
        }
    }
    Ok(end)
}
