use super::Topology;

/// A torus: each node has a router of its own with two links for each dimension.
///
/// Routes go the shorter way around each dimension; the shortest routes differ in the order of dimensions. A detour goes over
/// another node (Valiant: A scheme for fast parallel communication, SIAM J. Computing 1982).
#[derive(Clone, Debug)]
pub(super) struct Torus {
    /// Nodes along each dimension.
    pub shape: Vec<u32>,
}

impl Torus {
    fn dimensions(&self) -> u32 {
        self.shape.len() as u32
    }

    /// Appends the links from `at` to `to`, dimension after dimension from `first` on.
    fn walk(&self, mut at: u32, to: u32, first: u32, links: &mut Vec<u32>) {
        for turn in 0..self.dimensions() {
            let dimension = ((first + turn) % self.dimensions()) as usize;
            let stride: u32 = self.shape[..dimension].iter().product();
            let length = self.shape[dimension];
            let place = |node: u32| node / stride % length;
            let ahead = (place(to) + length - place(at)) % length;
            let is_forward = match (2 * ahead).cmp(&length) {
                std::cmp::Ordering::Less => true,
                // Both ways are as long: half of the pairs take each.
                std::cmp::Ordering::Equal => {
                    let others = to / (stride * length) + to % stride;
                    (place(at) + others).is_multiple_of(2)
                }
                std::cmp::Ordering::Greater => false,
            };
            let (steps, step) = if is_forward {
                (ahead, 1)
            } else {
                (length - ahead, length - 1)
            };
            for _ in 0..steps {
                let port = 2 * dimension as u32 + u32::from(!is_forward);
                links.push(self.nodes() + at * 2 * self.dimensions() + port);
                let next = (place(at) + step) % length;
                at = at - place(at) * stride + next * stride;
            }
        }
    }
}

impl Topology for Torus {
    fn nodes(&self) -> u32 {
        self.shape.iter().product()
    }

    fn links(&self) -> u32 {
        self.nodes() * (1 + 2 * self.dimensions())
    }

    fn minimal(&self, from: u32, to: u32) -> u32 {
        if from == to { 1 } else { self.dimensions() }
    }

    fn detours(&self, from: u32, to: u32) -> u32 {
        if from == to { 0 } else { self.nodes() - 2 }
    }

    fn route(&self, from: u32, to: u32, choice: u32, links: &mut Vec<u32>) {
        let minimal = self.minimal(from, to);
        if choice < minimal {
            self.walk(from, to, choice, links);
        } else {
            let (low, high) = (from.min(to), from.max(to));
            let above_low = choice - minimal + u32::from(choice - minimal >= low);
            // The detour numbered `choice` among all nodes but the two ends.
            let via = above_low + u32::from(above_low >= high);
            self.walk(from, via, 0, links);
            self.walk(via, to, 0, links);
        }
        links.push(to);
    }
}
