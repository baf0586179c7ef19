//! Places in a grid or block: numbers and coordinates.

/// The coordinates of what has the number `index` in `extent`.
pub(crate) fn split(index: u64, extent: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extent.map(u64::from);
    [
        (index % x) as u32,
        (index / x % y) as u32,
        (index / (x * y)) as u32,
    ]
}

/// The number of what has these coordinates in `extent`.
pub(crate) fn join([x, y, z]: [u32; 3], extent: [u32; 3]) -> u64 {
    let [width, height, _] = extent.map(u64::from);
    (u64::from(z) * height + u64::from(y)) * width + u64::from(x)
}
