//! Which settings are best where several targets pull in different directions.

/// The places in `distances` that nothing beats: each is at least as near to every target as any other is, or nearer to one.
///
/// Distances are compared in steps of `resolution` (exactly, where it is 0), so that the front does not fill up with settings
/// that hardly differ; of settings in the same steps, the one with the least sum stays, then the first
/// (Laumanns et al.: Combining convergence and diversity in evolutionary multiobjective optimization, 2002). Settings without
/// distances are on no front. In the order of their places.
pub fn front(distances: &[Option<Vec<f64>>], resolution: f64) -> Vec<usize> {
    let candidates: Vec<(usize, Vec<f64>, f64)> = distances
        .iter()
        .enumerate()
        .filter_map(|(place, own)| {
            let own = own.as_ref()?;
            Some((place, steps(own, resolution), own.iter().sum()))
        })
        .collect();
    let is_beaten = |(place, steps, sum): &(usize, Vec<f64>, f64)| {
        candidates.iter().any(|(other, other_steps, other_sum)| {
            let is_as_near = other_steps.iter().zip(steps).all(|(a, b)| a <= b);
            let is_equal = other_steps == steps;
            is_as_near && (!is_equal || (other_sum, other) < (sum, place))
        })
    };
    let best = candidates.iter().filter(|candidate| !is_beaten(candidate));
    best.map(|(place, ..)| *place).collect()
}

fn steps(distances: &[f64], resolution: f64) -> Vec<f64> {
    let step = |distance: &f64| match resolution > 0.0 {
        true => (distance / resolution).floor(),
        false => *distance,
    };
    distances.iter().map(step).collect()
}

#[cfg(test)]
mod tests;
