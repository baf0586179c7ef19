//! Values by place; places are used again, so memory grows with what is there at once.

/// A store of values that lives in one stretch of memory.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
    most: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            most: 0,
        }
    }
}

impl<T> Slab<T> {
    /// Keeps `value`; returns its place.
    pub fn insert(&mut self, value: T) -> u32 {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(value);
                place
            }
            None => {
                self.places.push(Some(value));
                (self.places.len() - 1) as u32
            }
        };
        self.most = self.most.max(self.places.len() - self.free.len());
        place
    }

    /// The value at `place`.
    pub fn get(&self, place: u32) -> &T {
        self.places[place as usize].as_ref().expect(TAKEN)
    }

    /// The value at `place`, to change it.
    pub fn get_mut(&mut self, place: u32) -> &mut T {
        self.places[place as usize].as_mut().expect(TAKEN)
    }

    /// Takes the value from `place`.
    pub fn remove(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize].take().expect(TAKEN)
    }

    /// Most values that were here at once.
    pub fn most(&self) -> usize {
        self.most
    }
}

const TAKEN: &str = "a place holds its value until it is taken";
