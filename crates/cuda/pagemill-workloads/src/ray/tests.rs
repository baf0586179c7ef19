use super::*;

#[test]
fn the_default_is_the_size_of_the_literature() {
    let workload = INFO
        .build(&Values::defaults(NAME, INFO.parameters))
        .expect("defaults are allowed");
    assert_eq!(workload.footprint_bytes(), (1 << 20) + 12 * 32);
}

#[test]
fn an_image_of_too_many_pixels_is_refused() {
    let mut values = Values::defaults(NAME, INFO.parameters);
    values.set("width", 1 << 18).expect("alone allowed");
    values.set("height", 1 << 18).expect("alone allowed");
    let error = INFO.build(&values).expect_err("2^36 pixels");
    assert_eq!(
        error.to_string(),
        "ray: height = 262144 is not allowed, 1 to 4096 with rows of 262144 pixels is"
    );
}

#[test]
fn the_check_compares_every_channel_and_finds_one_wrong_bit() {
    let ray = Ray {
        view: View {
            width: 5,
            height: 3,
        },
        sphere_count: 3,
        bounces: 2,
        seed: 1,
        read_results: false,
    };
    let scene = Scene::generate(3, 1);
    let mut image: Vec<u8> = (0..3)
        .flat_map(|row| (0..5).map(move |column| (column, row)))
        .flat_map(|(column, row)| reference::pixel(&scene, ray.view, 2, column, row))
        .flat_map(f32::to_le_bytes)
        .collect();
    assert_eq!(ray.check(&scene, &image).expect("own image").values, 60);
    image[7 * 4] ^= 1;
    let error = ray.check(&scene, &image).expect_err("one bit differs");
    assert!(
        error.to_string().starts_with("ray: image[7] is "),
        "{error}"
    );
}
