use crate::random::Random;
use crate::words::fill;

pub(super) const SPHERE_BYTES: u64 = 32;
/// From so many spheres on they shrink, so that they do not fill the picture.
const CROWD: u32 = 12;

/// A point or direction; x to the right, y up, z away from the viewer.
pub(super) type Vector = [f32; 3];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sphere {
    pub(super) center: Vector,
    pub(super) radius: f32,
    pub(super) surface: Surface,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Surface {
    /// Red, green, blue from 0 to 1.
    pub(super) color: Vector,
    /// Share of the light that is reflected as by a mirror.
    pub(super) mirror: f32,
}

/// Spheres above the plane y = 0.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) spheres: Vec<Sphere>,
}

impl Scene {
    pub(super) fn generate(count: u32, seed: u64) -> Self {
        let random = Random::new(seed, 0);
        let crowding = (CROWD as f32 / count.max(CROWD) as f32).sqrt();
        let spheres = (0..u64::from(count))
            .map(|index| {
                let draw = |which: u64, low, high| random.f32_in(index * 8 + which, low, high);
                let radius = draw(0, 0.5, 1.2) * crowding;
                Sphere {
                    center: [
                        draw(1, -3.5, 3.5),
                        radius + draw(2, 0.0, 2.5),
                        draw(3, 0.0, 6.0),
                    ],
                    radius,
                    surface: Surface {
                        color: [draw(4, 0.1, 1.0), draw(5, 0.1, 1.0), draw(6, 0.1, 1.0)],
                        mirror: draw(7, 0.3, 0.9),
                    },
                }
            })
            .collect();
        Self { spheres }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.spheres.len() as u64 * SPHERE_BYTES
    }

    pub(super) fn write(&self, bytes: &mut [u8]) {
        let mut values = self.spheres.iter().flat_map(|sphere| {
            let Sphere {
                center: [x, y, z],
                radius,
                surface,
            } = *sphere;
            let [red, green, blue] = surface.color;
            [x, y, z, radius, red, green, blue, surface.mirror]
        });
        fill(bytes, |_| {
            values.next().expect("the buffer has eight floats a sphere")
        });
    }
}
