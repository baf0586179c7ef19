use super::*;

#[test]
fn names_of_both_interfaces_are_known() {
    for name in [
        "__cudaCDP2LaunchDeviceV2",
        "__cudaCDP2LaunchDeviceV2_ptsz",
        "cudaLaunchDeviceV2",
    ] {
        assert_eq!(
            find(name).map(|found| found.function),
            Some(RuntimeFn::LaunchDeviceV2),
            "{name}"
        );
    }
    for name in [
        "LaunchDeviceV2",
        "cudaDeviceSynchronize",
        "__cudaCDP2",
        "cudaLaunchDeviceV3",
    ] {
        assert!(find(name).is_none(), "{name}");
    }
}

#[test]
fn a_call_has_room_for_its_numbers() {
    for (name, _, arguments, _) in FUNCTIONS {
        let numbers = arguments.iter().map(|argument| match argument {
            Argument::Dim3 => 3,
            _ => 1,
        });
        assert!(numbers.sum::<usize>() <= NUMBERS_MAX, "{name}");
    }
}
