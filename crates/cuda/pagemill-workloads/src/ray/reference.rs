//! The ray tracer in scalar code. Every expression has the kernel's order of operations, so results agree bit for bit.

use super::View;
use super::scene::{Scene, Sphere, Surface, Vector};

const EYE: Vector = [0.0, 2.0, -7.0];
const LIGHT: Vector = [-6.0, 9.0, -5.0];
const WHITE: Vector = [1.0; 3];
const FAR: f32 = 1e30;
const NEAR: f32 = 1e-3;
const AMBIENT: f32 = 0.1;
const FAINT: f32 = 0.01;

fn along(from: Vector, direction: Vector, by: f32) -> Vector {
    std::array::from_fn(|axis| from[axis] + direction[axis] * by)
}

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn scaled(v: Vector, by: f32) -> Vector {
    v.map(|value| value * by)
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[derive(Clone, Copy)]
struct RayOfLight {
    origin: Vector,
    direction: Vector,
}

/// What a ray meets first.
#[derive(Clone, Copy, Debug)]
struct Hit {
    distance: f32,
    point: Vector,
    normal: Vector,
    surface: Surface,
}

/// Distance to the near side of a sphere, `FAR` if the ray passes it or starts inside.
fn sphere_distance(sphere: &Sphere, ray: RayOfLight) -> f32 {
    let from_center = minus(ray.origin, sphere.center);
    let half_b = dot(from_center, ray.direction);
    let c = dot(from_center, from_center) - sphere.radius * sphere.radius;
    let discriminant = half_b * half_b - c;
    if discriminant <= 0.0 {
        return FAR;
    }
    let distance = -half_b - discriminant.sqrt();
    if distance > NEAR { distance } else { FAR }
}

fn plane_surface(point: Vector) -> Surface {
    let field = point[0].floor() as i32 + point[2].floor() as i32;
    Surface {
        color: if field & 1 != 0 { [0.1; 3] } else { [0.9; 3] },
        mirror: 0.2,
    }
}

fn nearest_hit(scene: &Scene, ray: RayOfLight) -> Option<Hit> {
    let mut nearest = FAR;
    let mut met = None;
    for sphere in &scene.spheres {
        let distance = sphere_distance(sphere, ray);
        if distance < nearest {
            nearest = distance;
            met = Some(sphere);
        }
    }
    if ray.direction[1] < 0.0 {
        let distance = -ray.origin[1] / ray.direction[1];
        if distance > NEAR && distance < nearest {
            let point = along(ray.origin, ray.direction, distance);
            return Some(Hit {
                distance,
                point,
                normal: [0.0, 1.0, 0.0],
                surface: plane_surface(point),
            });
        }
    }
    met.map(|sphere| {
        let point = along(ray.origin, ray.direction, nearest);
        Hit {
            distance: nearest,
            point,
            normal: scaled(minus(point, sphere.center), 1.0 / sphere.radius),
            surface: sphere.surface,
        }
    })
}

fn in_shadow(scene: &Scene, to_light: RayOfLight, light_distance: f32) -> bool {
    scene
        .spheres
        .iter()
        .any(|sphere| sphere_distance(sphere, to_light) < light_distance)
}

fn sky(direction: Vector) -> Vector {
    let up = 0.5 * direction[1] + 0.5;
    [1.0 - 0.5 * up, 1.0 - 0.25 * up, 1.0]
}

/// The 32nd power.
fn highlight(cosine: f32) -> f32 {
    (0..5).fold(cosine, |x, _| x * x)
}

/// Adds what the light source does to a surface to `color`.
fn illuminate(scene: &Scene, hit: &Hit, mirrored: Vector, weight: f32, color: Vector) -> Vector {
    let to_light = minus(LIGHT, hit.point);
    let light_distance = dot(to_light, to_light).sqrt();
    let to_light = scaled(to_light, 1.0 / light_distance);
    let shadow_ray = RayOfLight {
        origin: hit.point,
        direction: to_light,
    };
    let facing = dot(hit.normal, to_light);
    let mut color = color;
    let mut lit = AMBIENT;
    if facing > 0.0 && !in_shadow(scene, shadow_ray, light_distance) {
        lit += facing;
        let cosine = dot(mirrored, to_light);
        if cosine > 0.0 {
            color = along(color, WHITE, weight * highlight(cosine));
        }
    }
    along(
        color,
        hit.surface.color,
        weight * (1.0 - hit.surface.mirror) * lit,
    )
}

fn eye_ray(view: View, column: u32, row: u32) -> RayOfLight {
    let pixel = view.pixel();
    let direction = [
        (column as f32 + 0.5 - 0.5 * view.width as f32) * pixel,
        (0.5 * view.height as f32 - row as f32 - 0.5) * pixel,
        1.0,
    ];
    RayOfLight {
        origin: EYE,
        direction: scaled(direction, 1.0 / dot(direction, direction).sqrt()),
    }
}

/// Red, green, blue, and the distance of what is seen (0 for the sky).
pub(super) fn pixel(scene: &Scene, view: View, bounces: u32, column: u32, row: u32) -> [f32; 4] {
    let mut ray = eye_ray(view, column, row);
    let mut color = [0.0; 3];
    let mut weight = 1.0;
    let mut depth = 0.0;
    for bounce in 0..=bounces {
        let Some(hit) = nearest_hit(scene, ray) else {
            color = along(color, sky(ray.direction), weight);
            break;
        };
        if bounce == 0 {
            depth = hit.distance;
        }
        let mirrored = along(
            ray.direction,
            hit.normal,
            -2.0 * dot(ray.direction, hit.normal),
        );
        color = illuminate(scene, &hit, mirrored, weight, color);
        weight *= hit.surface.mirror;
        if weight < FAINT {
            break;
        }
        ray = RayOfLight {
            origin: hit.point,
            direction: mirrored,
        };
    }
    [color[0], color[1], color[2], depth]
}

#[cfg(test)]
mod tests;
