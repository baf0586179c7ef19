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
mod tests {
    use super::*;

    const RED: Surface = Surface {
        color: [1.0, 0.0, 0.0],
        mirror: 0.0,
    };

    fn sphere(center: Vector, radius: f32) -> Sphere {
        Sphere {
            center,
            radius,
            surface: RED,
        }
    }

    fn ray(origin: Vector, direction: Vector) -> RayOfLight {
        RayOfLight { origin, direction }
    }

    #[test]
    fn rays_meet_spheres_where_geometry_says() {
        let ball = sphere([0.0, 0.0, 10.0], 2.0);
        let forward = [0.0, 0.0, 1.0];
        assert_eq!(sphere_distance(&ball, ray([0.0; 3], forward)), 8.0);
        // A chord at height 1.2 stands 1.6 before the center.
        let high = sphere_distance(&ball, ray([0.0, 1.2, 0.0], forward));
        assert!((high - 8.4).abs() < 1e-5, "{high}");
        for passes in [[0.0, 2.5, 0.0], [0.0, 0.0, 10.0], [0.0, 0.0, 20.0]] {
            assert_eq!(sphere_distance(&ball, ray(passes, forward)), FAR);
        }
    }

    #[test]
    fn hit_points_lie_on_what_is_hit() {
        let scene = Scene::generate(12, 3);
        let view = View {
            width: 32,
            height: 32,
        };
        let mut on_spheres = 0;
        for row in 0..32 {
            for column in 0..32 {
                let Some(hit) = nearest_hit(&scene, eye_ray(view, column, row)) else {
                    continue;
                };
                assert!((dot(hit.normal, hit.normal) - 1.0).abs() < 1e-3);
                if hit.normal == [0.0, 1.0, 0.0] {
                    assert!(hit.point[1].abs() < 1e-4);
                } else {
                    on_spheres += 1;
                    let off = scene.spheres.iter().map(|sphere| {
                        let out = minus(hit.point, sphere.center);
                        (dot(out, out).sqrt() - sphere.radius).abs()
                    });
                    assert!(off.fold(FAR, f32::min) < 1e-4);
                }
            }
        }
        assert!(on_spheres > 100, "only {on_spheres} pixels show a sphere");
    }

    #[test]
    fn a_sphere_shades_the_plane_behind_it() {
        let light_way = |at: Vector| {
            let way = minus(LIGHT, at);
            let distance = dot(way, way).sqrt();
            (ray(at, scaled(way, 1.0 / distance)), distance)
        };
        let middle = scaled(LIGHT, 0.5);
        let scene = Scene {
            spheres: vec![sphere(middle, 1.0)],
        };
        let (shaded, distance) = light_way([0.0; 3]);
        assert!(in_shadow(&scene, shaded, distance));
        let (lit, distance) = light_way([5.0, 0.0, 0.0]);
        assert!(!in_shadow(&scene, lit, distance));
        // What stands behind the light shades nothing.
        let (beyond, distance) = light_way(scaled(LIGHT, 0.9));
        assert!(!in_shadow(&scene, beyond, distance));
    }

    #[test]
    fn a_perfect_mirror_shows_the_sky_it_faces() {
        let mirror = Sphere {
            surface: Surface {
                color: [0.0; 3],
                mirror: 1.0,
            },
            ..sphere([0.0, 2.0, 0.0], 1.0)
        };
        let scene = Scene {
            spheres: vec![mirror],
        };
        let view = View {
            width: 1,
            height: 1,
        };
        // Straight at the sphere and straight back: the horizon's color, whatever the light does to a black surface.
        let [red, green, blue, depth] = pixel(&scene, view, 1, 0, 0);
        assert_eq!(depth, 6.0);
        assert!(red >= 0.75 && green >= 0.875 && blue >= 1.0);
        // Without the bounce only the highlight is left.
        assert!(pixel(&scene, view, 0, 0, 0)[2] < 1.0);
    }
}
