//! Streams and events, and waiting for them.

use std::ffi::{c_int, c_uint, c_void};

use super::waiter::{is_settled, settle};
use super::work::HostFunction;
use super::{Done, OutPtr, address, api, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{StreamId, Turn};

/// `cudaStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;

pub(super) type StreamCallback = extern "C" fn(*mut c_void, c_int, *mut c_void);

fn create(to: OutPtr<*mut c_void>, flags: c_uint) -> Done {
    if flags > NON_BLOCKING {
        let message = format!("there are no stream flags {flags:#x}");
        return Err(Fault::invalid(message));
    }
    let stream = with_runtime(|runtime| Ok(runtime.streams.create_stream(flags != NON_BLOCKING)))?;
    to.put(stream.0 as *mut c_void)
}

fn create_event(to: OutPtr<*mut c_void>) -> Done {
    let event = with_runtime(|runtime| Ok(runtime.streams.create_event()))?;
    to.put(event as *mut c_void)
}

/// A call of `cudaStreamAddCallback`.
struct Callback {
    function: StreamCallback,
    stream: *mut c_void,
    data: *mut c_void,
}

impl Callback {
    extern "C" fn call(own: *mut c_void) {
        // SAFETY: a box of this type was given away for this one call.
        let own = unsafe { Box::from_raw(own.cast::<Self>()) };
        (own.function)(own.stream, CudaError::SUCCESS.0, own.data);
    }
}

pub(super) fn stream_id(stream: *mut c_void) -> StreamId {
    StreamId(address(stream))
}

fn record(event: *mut c_void, stream: *mut c_void) -> Done {
    with_runtime(|runtime| runtime.record_event(address(event), stream_id(stream)))
}

/// The host waits for everything.
fn synchronize() -> Done {
    settle(Turn::All)?;
    with_runtime(|runtime| {
        runtime.synchronize();
        Ok(())
    })
}

api! {
    fn cudaDeviceSynchronize() {
        synchronize()
    }

    fn cudaThreadSynchronize() {
        synchronize()
    }

    fn cudaDeviceReset() {
        // What the program has not freed goes with the process.
        synchronize()
    }

    fn cudaThreadExit() {
        synchronize()
    }

    fn cudaStreamCreate(to: OutPtr<*mut c_void>) {
        create(to, 0)
    }

    fn cudaStreamCreateWithFlags(to: OutPtr<*mut c_void>, flags: c_uint) {
        create(to, flags)
    }

    fn cudaStreamCreateWithPriority(to: OutPtr<*mut c_void>, flags: c_uint, _priority: c_int) {
        create(to, flags)
    }

    fn cudaStreamDestroy(stream: *mut c_void) {
        with_runtime(|runtime| runtime.streams.destroy_stream(stream_id(stream)))
    }

    fn cudaStreamSynchronize(stream: *mut c_void) {
        let stream = stream_id(stream);
        settle(Turn::Stream(stream))?;
        with_runtime(|runtime| runtime.synchronize_stream(stream))
    }

    fn cudaStreamQuery(stream: *mut c_void) {
        is_settled(Turn::Stream(stream_id(stream)))?;
        // The host takes no time of its own: a program that asks again and again has waited.
        with_runtime(|runtime| runtime.synchronize_stream(stream_id(stream)))
    }

    fn cudaStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) {
        with_runtime(|runtime| runtime.wait_for_event(stream_id(stream), address(event)))
    }

    fn cudaStreamGetFlags(stream: *mut c_void, to: OutPtr<c_uint>) {
        let non_blocking = with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream)))?;
        to.put(c_uint::from(non_blocking))
    }

    fn cudaStreamGetPriority(stream: *mut c_void, to: OutPtr<c_int>) {
        with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream)))?;
        to.put(0)
    }

    fn cudaStreamGetDevice(stream: *mut c_void, to: OutPtr<c_int>) {
        with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream)))?;
        to.put(0)
    }

    fn cudaStreamGetId(stream: *mut c_void, to: OutPtr<u64>) {
        with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream)))?;
        to.put(address(stream))
    }

    fn cudaStreamIsCapturing(stream: *mut c_void, to: OutPtr<c_int>) {
        let capturing = with_runtime(|runtime| {
            runtime.streams.is_non_blocking(stream_id(stream))?;
            Ok(runtime.graphs.is_capturing(stream_id(stream)))
        })?;
        to.put(capturing.into())
    }

    fn cudaLaunchHostFunc(stream: *mut c_void, function: Option<HostFunction>, data: *mut c_void) {
        let function = function.ok_or_else(null)?;
        super::work::call_host(stream_id(stream), function, data)
    }

    fn cudaStreamAddCallback(stream: *mut c_void, function: Option<StreamCallback>, data: *mut c_void, _flags: c_uint) {
        let function = function.ok_or_else(null)?;
        let callback = Box::new(Callback { function, stream, data });
        super::work::call_host(stream_id(stream), Callback::call, Box::into_raw(callback).cast())
    }

    fn cudaEventCreate(to: OutPtr<*mut c_void>) {
        create_event(to)
    }

    fn cudaEventCreateWithFlags(to: OutPtr<*mut c_void>, _flags: c_uint) {
        create_event(to)
    }

    fn cudaEventDestroy(event: *mut c_void) {
        with_runtime(|runtime| runtime.streams.destroy_event(address(event)))
    }

    fn cudaEventRecord(event: *mut c_void, stream: *mut c_void) {
        record(event, stream)
    }

    fn cudaEventRecordWithFlags(event: *mut c_void, stream: *mut c_void, _flags: c_uint) {
        record(event, stream)
    }

    fn cudaEventSynchronize(event: *mut c_void) {
        settle(Turn::Event(address(event)))?;
        with_runtime(|runtime| runtime.synchronize_event(address(event)))
    }

    fn cudaEventQuery(event: *mut c_void) {
        is_settled(Turn::Event(address(event)))?;
        // As cudaStreamQuery.
        with_runtime(|runtime| runtime.synchronize_event(address(event)))
    }

    fn cudaEventElapsedTime(to: OutPtr<f32>, start: *mut c_void, end: *mut c_void) {
        let elapsed = with_runtime(|runtime| runtime.streams.elapsed_ms(address(start), address(end)))?;
        to.put(elapsed)
    }
}
