use std::fmt;
use std::str::FromStr;

/// What a page does with one more valid range when its range slots are taken.
///
/// Either way one gap is moved along with the request, so that two ranges become one. Among equal gaps the one
/// at the lower offset is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FullSlotRule {
    /// Move the smallest gap of the page, wherever it is.
    #[default]
    SmallestGap,
    /// Move the gap between the request and the range nearest to it.
    NearestRange,
}

impl FullSlotRule {
    /// Every rule.
    pub const ALL: [Self; 2] = [Self::SmallestGap, Self::NearestRange];

    /// The name that scenario files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmallestGap => "smallest-gap",
            Self::NearestRange => "nearest-range",
        }
    }

    /// One line for listings.
    pub fn summary(self) -> &'static str {
        match self {
            Self::SmallestGap => {
                "moves the smallest gap of the page, old or new, so that two ranges become one"
            }
            Self::NearestRange => "moves the gap between the request and the range nearest to it",
        }
    }
}

impl fmt::Display for FullSlotRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FullSlotRule {
    type Err = UnknownFullSlotRule;

    fn from_str(name: &str) -> Result<Self, UnknownFullSlotRule> {
        let known = Self::ALL.into_iter().find(|rule| rule.name() == name);
        known.ok_or_else(|| UnknownFullSlotRule {
            name: name.to_owned(),
        })
    }
}

/// A name that is no [`FullSlotRule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFullSlotRule {
    /// The name that was given.
    pub name: String,
}

impl fmt::Display for UnknownFullSlotRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FullSlotRule::ALL.map(FullSlotRule::name).join(", ");
        write!(
            f,
            "there is no rule \"{}\" for full range slots: use one of {known}",
            self.name
        )
    }
}

impl std::error::Error for UnknownFullSlotRule {}
