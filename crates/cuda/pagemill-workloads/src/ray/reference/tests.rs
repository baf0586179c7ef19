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
