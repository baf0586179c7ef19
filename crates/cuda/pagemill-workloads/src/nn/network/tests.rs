use super::*;

#[test]
fn layers_fit_together() {
    for pair in LAYERS.windows(2) {
        assert_eq!(pair[0].outputs(), pair[1].inputs(), "{pair:?}");
    }
}

#[test]
fn the_activation_is_a_scaled_hyperbolic_tangent() {
    for i in -100..=100 {
        let x = i as f32 * 0.1;
        let exact = 1.7159 * (2.0 / 3.0 * f64::from(x)).tanh();
        assert!((f64::from(activation(x)) - exact).abs() < 1e-6, "{x}");
    }
    assert_eq!(activation(1e30), 1.7159);
    assert_eq!(activation(-1e30), -1.7159);
}

#[test]
fn a_kernel_with_one_weight_picks_every_second_pixel() {
    let layer = LAYERS[0];
    let mut weights = vec![0.0; layer.weights()];
    // Map 2 looks at row 3, column 1 of its square.
    weights[2 * 26 + 1 + 3 * KERNEL + 1] = 1.0;
    let image: Vec<f32> = (0..29 * 29).map(|pixel| pixel as f32 * 1e-3).collect();
    let values = layer.forward(&weights, &image);
    for (place, &value) in values.iter().enumerate() {
        let (map, y, x) = (place / 169, place % 169 / 13, place % 13);
        let expected = if map == 2 {
            activation(image[(2 * y + 3) * 29 + 2 * x + 1])
        } else {
            0.0
        };
        assert_eq!(value, expected, "map {map} at {x}, {y}");
    }
}

#[test]
fn a_full_layer_is_a_matrix_with_bias() {
    let layer = LAYERS[3];
    let mut weights = vec![0.0; layer.weights()];
    weights[4 * 101] = 0.25;
    weights[4 * 101 + 1 + 99] = 2.0;
    let mut from = vec![0.0; 100];
    from[99] = 0.5;
    let values = layer.forward(&weights, &from);
    assert_eq!(values[4], activation(1.25));
    assert_eq!(values[5], activation(0.0));
}
