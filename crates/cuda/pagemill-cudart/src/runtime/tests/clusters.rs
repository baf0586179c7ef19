use super::*;

#[test]
fn clusters_have_the_sizes_that_cuda_allows() {
    const REFUSED: Result<(), CudaError> = Err(CudaError::INVALID_CLUSTER_SIZE);
    let launch_of = |capability: u32, cluster: [u32; 3], grid: u32, allows_large: bool| {
        let mut setting = Setting::from_text(SCENARIO).expect("it is sound");
        setting.machine.sm.compute_capability = capability;
        let mut runtime = Runtime::new(setting).expect("it can be built");
        let image = runtime.modules.register_ptx(PTX.to_owned());
        let key = runtime
            .kernels()
            .kernel_of_image(image, "store")
            .expect("it is there");
        let to = runtime.malloc(8).expect("there is room");
        let to = to.expect("not empty");
        let allowed = runtime.kernels().allow_large_clusters(key, allows_large);
        allowed.expect("the kernel is there");
        let launch = Launch {
            grid: [grid, 1, 1],
            cluster: Some(cluster),
            ..one_thread(StreamId::LEGACY)
        };
        let launched = runtime.launch(key, &launch, |_, _| Ok(arguments(to, 0)));
        launched.map_err(|fault| fault.code)
    };
    assert_eq!(launch_of(80, [1; 3], 4, false), Ok(()));
    assert_eq!(
        launch_of(80, [2, 1, 1], 4, false),
        Err(CudaError::NOT_SUPPORTED)
    );
    for size in [1, 2, 4, 8] {
        assert_eq!(launch_of(90, [size, 1, 1], 16, false), Ok(()), "{size}");
    }
    assert_eq!(launch_of(90, [16, 1, 1], 16, false), REFUSED);
    assert_eq!(launch_of(90, [16, 1, 1], 16, true), Ok(()));
    for cluster in [[0, 1, 1], [3, 1, 1], [1, 2, 1], [32, 1, 1], [u32::MAX; 3]] {
        assert_eq!(launch_of(90, cluster, 16, true), REFUSED, "{cluster:?}");
    }
}

#[test]
fn clusters_that_are_resident_at_once_are_counted() {
    let mut setting = Setting::from_text(SCENARIO).expect("it is sound");
    setting.machine.sm.compute_capability = 90;
    let sm = setting.machine.sm;
    let (sms, most) = (sm.count, sm.shared_bytes_per_block_max());
    let shared_bytes = u64::from(most);
    let mut runtime = Runtime::new(setting).expect("it can be built");
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let key = runtime
        .kernels()
        .kernel_of_image(image, "store")
        .expect("it is there");
    for blocks in 1..=16 {
        let launch = Launch {
            shared_bytes,
            cluster: Some([blocks, 1, 1]),
            ..one_thread(StreamId::LEGACY)
        };
        let found = runtime.kernels().active_clusters(key, &launch);
        assert_eq!(
            found.map_err(|fault| fault.code),
            Ok(sms / blocks),
            "one block an SM"
        );
    }
    let launch = one_thread(StreamId::LEGACY);
    let largest = |runtime: &mut Runtime| runtime.kernels().largest_cluster(key, &launch).ok();
    assert_eq!(largest(&mut runtime), Some(8));
    runtime
        .kernels()
        .allow_large_clusters(key, true)
        .expect("the kernel is there");
    assert_eq!(largest(&mut runtime), Some(16));
}
