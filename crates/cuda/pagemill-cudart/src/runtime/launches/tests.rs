use super::*;
use crate::setting::Setting;

const SCENARIO: &str = r#"
title = "A test"
kind = "cuda"
machine = "h100"
program.command = ["test"]
transfer = { mode = "whole-page", page_size = "4 KiB" }
"#;

const STATIC_BYTES: u64 = 12_000;
const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry keep(.param .u64 to) {
  .shared .align 4 .b8 own[12000];
  .reg .b32 %r<2>;
  mov.u32 %r1, own;
  st.shared.u32 [%r1], 1;
  ret;
}
";

fn kernel() -> (Runtime, FunctionKey) {
    let setting = Setting::from_text(SCENARIO).expect("it is sound");
    let mut runtime = Runtime::new(setting).expect("it can be built");
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let key = runtime.kernels().kernel_of_image(image, "keep");
    (runtime, key.expect("it is there"))
}

fn launch(
    runtime: &mut Runtime,
    key: FunctionKey,
    change: impl Fn(&mut Launch),
) -> Option<CudaError> {
    let mut launch = Launch {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        stream: StreamId::LEGACY,
        cooperative: false,
        cluster: None,
    };
    change(&mut launch);
    let done = runtime.launch(key, &launch, |_, _| Ok(vec![0; 8]));
    done.err().map(|fault| fault.code)
}

#[test]
fn kernels_ask_for_shared_memory_beyond_48_kib() {
    const REFUSED: Option<CudaError> = Some(CudaError::INVALID_VALUE);
    let (mut runtime, key) = kernel();
    let plain = (48 << 10) - STATIC_BYTES;
    let most = (227 << 10) - STATIC_BYTES;
    let allowed = |runtime: &mut Runtime| {
        let attributes = runtime
            .kernels()
            .function_attributes(key)
            .expect("it is sound");
        attributes.max_dynamic_shared_bytes
    };
    assert_eq!(allowed(&mut runtime), plain);
    for (bytes, ask, said) in [
        (plain, None, None),
        (plain + 1, None, REFUSED),
        (plain + 1, Some(plain + 1), None),
        (most, None, REFUSED),
        (most, Some(most), None),
        (most + 1, None, REFUSED),
    ] {
        if let Some(ask) = ask {
            let asked = runtime.kernels().allow_dynamic_shared(key, ask as i32);
            assert_eq!(asked, Ok(()));
            assert_eq!(allowed(&mut runtime), ask);
        }
        let got = launch(&mut runtime, key, |launch| launch.shared_bytes = bytes);
        assert_eq!(got, said, "{bytes} bytes");
        let blocks = runtime
            .kernels()
            .blocks_per_sm(key, 32, bytes)
            .expect("it is there");
        assert_eq!(blocks > 0, said.is_none(), "{bytes} bytes");
    }
    for ask in [-1, most as i32 + 1, 228 << 10] {
        let asked = runtime.kernels().allow_dynamic_shared(key, ask);
        assert_eq!(
            asked.map_err(|fault| fault.code),
            Err(CudaError::INVALID_VALUE)
        );
    }
    for blocks in 1..=6 {
        let room = runtime
            .kernels()
            .shared_bytes_beside(key, blocks, 32)
            .expect("they fit");
        assert_eq!(
            room,
            ((228 << 10) / u64::from(blocks) / 128 * 128) - 1024 - STATIC_BYTES
        );
        let asked = runtime.kernels().allow_dynamic_shared(key, room as i32);
        assert_eq!(asked, Ok(()));
        assert_eq!(runtime.kernels().blocks_per_sm(key, 32, room), Ok(blocks));
        runtime
            .kernels()
            .allow_dynamic_shared(key, room as i32 + 128)
            .ok();
        assert!(
            runtime
                .kernels()
                .blocks_per_sm(key, 32, room + 128)
                .is_ok_and(|found| found < blocks)
        );
    }
}

#[test]
fn blocks_are_at_most_64_threads_deep() {
    let (mut runtime, key) = kernel();
    for (depth, said) in [(64, None), (65, Some(CudaError::INVALID_VALUE))] {
        let got = launch(&mut runtime, key, |launch| launch.block = [1, 1, depth]);
        assert_eq!(got, said, "{depth}");
    }
}
