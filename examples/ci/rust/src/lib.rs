//! y = a x + y on the GPU, by the driver API.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};

const PTX: &CStr = c"
.version 7.0
.target sm_75
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<6>;
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p ret;
    mul.wide.u32 %d3, %r5, 4;
    add.u64 %d4, %d1, %d3;
    add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%d5], %f3;
    ret;
}
";

extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Calls a function of `libcuda.so.1`; an error is the panic's message.
macro_rules! cuda {
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {{
        let name = concat!(stringify!($name), "\0");
        // SAFETY: the driver's functions are of these types, and the arguments live until the call returns.
        let code = unsafe {
            let library = dlopen(c"libcuda.so.1".as_ptr(), 2);
            assert!(!library.is_null(), "there is no libcuda.so.1");
            let found = dlsym(library, name.as_ptr().cast());
            assert!(!found.is_null(), "there is no {name}");
            let function: extern "C" fn($($type),*) -> c_int = std::mem::transmute(found);
            function($($argument),*)
        };
        assert_eq!(code, 0, "{}", stringify!($name));
    }};
}

/// Adds `a` times `x` to `y`.
///
/// # Panics
/// If the driver refuses, or the lengths differ.
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    let bytes = std::mem::size_of_val(x);
    let (mut context, mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    let (mut on_gpu_x, mut on_gpu_y) = (0u64, 0u64);
    cuda!(cuInit(0 => c_uint));
    cuda!(cuDevicePrimaryCtxRetain(&mut context => *mut *mut c_void, 0 => c_int));
    cuda!(cuCtxSetCurrent(context => *mut c_void));
    cuda!(cuModuleLoadData(&mut module => *mut *mut c_void, PTX.as_ptr().cast() => *const c_void));
    cuda!(cuModuleGetFunction(&mut function => *mut *mut c_void, module => *mut c_void, c"saxpy".as_ptr() => *const c_char));
    cuda!(cuMemAlloc_v2(&mut on_gpu_x => *mut u64, bytes => usize));
    cuda!(cuMemAlloc_v2(&mut on_gpu_y => *mut u64, bytes => usize));
    cuda!(cuMemcpyHtoD_v2(on_gpu_x => u64, x.as_ptr().cast() => *const c_void, bytes => usize));
    cuda!(cuMemcpyHtoD_v2(on_gpu_y => u64, y.as_ptr().cast() => *const c_void, bytes => usize));
    let (mut n, mut a) = (x.len() as u32, a);
    let mut arguments: [*mut c_void; 4] = [
        (&raw mut n).cast(),
        (&raw mut a).cast(),
        (&raw mut on_gpu_x).cast(),
        (&raw mut on_gpu_y).cast(),
    ];
    cuda!(cuLaunchKernel(
        function => *mut c_void,
        n.div_ceil(256) => c_uint, 1 => c_uint, 1 => c_uint,
        256 => c_uint, 1 => c_uint, 1 => c_uint,
        0 => c_uint,
        std::ptr::null_mut() => *mut c_void,
        arguments.as_mut_ptr() => *mut *mut c_void,
        std::ptr::null_mut() => *mut *mut c_void,
    ));
    cuda!(cuMemcpyDtoH_v2(y.as_mut_ptr().cast() => *mut c_void, on_gpu_y => u64, bytes => usize));
    cuda!(cuMemFree_v2(on_gpu_x => u64));
    cuda!(cuMemFree_v2(on_gpu_y => u64));
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums_are_those_of_the_cpu() {
        for n in [1, 255, 256, 1000] {
            let x: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
            let mut y: Vec<f32> = (0..n).map(|i| (i % 5) as f32).collect();
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
            super::saxpy(2.0, &x, &mut y);
            assert_eq!(y, wanted);
        }
    }
}
