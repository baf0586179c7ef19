//! Cubes of six images: which face a direction meets, and where.

/// The number of the face that a direction meets, and the place on it: from 0 to 1, and so is the other.
///
/// The faces are those of the table in the appendix "Texture Fetching" of the CUDA C++ Programming Guide. It does not say what
/// an edge belongs to: here z goes before y, and y before x.
pub(crate) fn face([x, y, z]: [f32; 3]) -> (u64, [f32; 2]) {
    let [width, height, depth] = [x.abs(), y.abs(), z.abs()];
    let (face, across, down, far) = if depth >= width && depth >= height {
        match z < 0.0 {
            false => (4, x, -y, depth),
            true => (5, -x, -y, depth),
        }
    } else if height >= width {
        match y < 0.0 {
            false => (2, x, z, height),
            true => (3, x, -z, height),
        }
    } else {
        match x < 0.0 {
            false => (0, -z, -y, width),
            true => (1, z, -y, width),
        }
    };
    (face, [across, down].map(|at| (at / far + 1.0) / 2.0))
}

#[cfg(test)]
mod tests;
