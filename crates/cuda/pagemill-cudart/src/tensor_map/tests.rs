use super::*;

fn good() -> Tiled {
    Tiled {
        element: 7,
        address: 0x7000_0000_0010,
        dimensions: vec![(100, 32, 1), (50, 8, 1), (7, 1, 2)],
        strides: vec![400, 20_000],
        interleave: 0,
        swizzle: 3,
        l2_promotion: 3,
        fill: 1,
    }
}

fn code(change: impl FnOnce(&mut Tiled)) -> CudaError {
    let mut tiled = good();
    change(&mut tiled);
    tiled
        .map()
        .map_or_else(|fault| fault.code, |_| CudaError::SUCCESS)
}

#[test]
fn limits_are_allowed() {
    assert_eq!(code(|_| {}), CudaError::SUCCESS);
    assert_eq!(
        code(|tiled| tiled.dimensions[1] = (1 << 32, 256, 8)),
        CudaError::SUCCESS
    );
    assert_eq!(
        code(|tiled| tiled.strides[1] = (1 << 40) - 16),
        CudaError::SUCCESS
    );
    assert_eq!(code(|tiled| tiled.dimensions[0].2 = 0), CudaError::SUCCESS);
    assert_eq!(
        code(|tiled| (tiled.element, tiled.fill) = (0, 0)),
        CudaError::SUCCESS
    );
    for element in 0..13 {
        let change = |tiled: &mut Tiled| {
            (tiled.element, tiled.fill) = (element, 0);
            tiled.dimensions[0].1 = 16;
        };
        assert_eq!(code(change), CudaError::SUCCESS, "type {element}");
    }
}

#[test]
fn what_hardware_does_not_take_is_an_invalid_value() {
    let changes: [fn(&mut Tiled); 24] = [
        |tiled| tiled.element = 16,
        |tiled| tiled.dimensions.clear(),
        |tiled| tiled.dimensions = vec![(8, 4, 1); 6],
        |tiled| tiled.address += 8,
        |tiled| tiled.dimensions[0].0 = 0,
        |tiled| tiled.dimensions[2].0 = (1 << 32) + 1,
        |tiled| tiled.strides[0] = 408,
        |tiled| tiled.strides[1] = 1 << 40,
        |tiled| tiled.dimensions[0].1 = 0,
        |tiled| tiled.dimensions[1].1 = 257,
        |tiled| tiled.dimensions[0].1 = 31,
        |tiled| tiled.dimensions[0].1 = 36,
        |tiled| (tiled.dimensions[0].1, tiled.swizzle) = (16, 1),
        |tiled| (tiled.dimensions[0].1, tiled.swizzle) = (20, 2),
        |tiled| tiled.dimensions[1].2 = 0,
        |tiled| tiled.dimensions[2].2 = 9,
        |tiled| tiled.interleave = 3,
        |tiled| tiled.swizzle = 7,
        |tiled| tiled.l2_promotion = 4,
        |tiled| tiled.fill = 2,
        |tiled| tiled.element = 2,
        |tiled| tiled.element = u32::MAX,
        |tiled| tiled.swizzle = u32::MAX,
        |tiled| (tiled.interleave, tiled.dimensions) = (1, vec![(8, 4, 1); 2]),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(code(change), CudaError::INVALID_VALUE, "change {number}");
    }
}

#[test]
fn what_is_missing_says_so() {
    for element in 13..16 {
        assert_eq!(
            code(|tiled| tiled.element = element),
            CudaError::NOT_SUPPORTED
        );
    }
    for interleave in 1..3 {
        assert_eq!(
            code(|tiled| tiled.interleave = interleave),
            CudaError::NOT_SUPPORTED
        );
    }
    for swizzle in 4..7 {
        assert_eq!(
            code(|tiled| tiled.swizzle = swizzle),
            CudaError::NOT_SUPPORTED
        );
    }
}
