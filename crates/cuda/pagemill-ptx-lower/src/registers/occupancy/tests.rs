use super::*;

#[test]
fn kernels_get_the_multiples_of_8_that_they_have_on_an_h100() {
    // Live registers of own kernels, and what cudaFuncGetAttributes says of them: H100 SXM5, driver 580.159.04, nvcc 13.
    for (live, measured) in [(3u32, 8u32), (20, 31), (63, 70), (124, 136)] {
        let units = |registers: u32| registers.div_ceil(UNIT);
        assert_eq!(units(allocated(live, None)), units(measured), "{live}");
    }
}

#[test]
fn launch_bounds_leave_each_thread_its_share() {
    for (threads, most) in [(1024, 64), (1000, 64), (768, 80), (256, 255), (32, 255)] {
        assert_eq!(allocated(400, Some(threads)), most, "{threads}");
    }
    assert_eq!(allocated(9, Some(u32::MAX)), LEAST);
    assert_eq!(allocated(u32::MAX, None), MOST);
}
