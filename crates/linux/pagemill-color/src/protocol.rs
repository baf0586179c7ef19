//! What holders and the coordinator say to each other: one JSON object a message, no descriptors.
//!
//! | from | message | meaning |
//! |---|---|---|
//! | holder | `{"op":"join","name":N,"process":P,"wish":W,"has":{"first":F,"count":C},"pages":G}` | a task runs; `has` after the coordinator was restarted |
//! | holder | `{"op":"holds","has":{...},"pages":G,"planned":M}` | its colors are these now; M pages move when they are touched |
//! | any process | `{"op":"status"}` | how the coordinator stands |
//! | coordinator | `{"reply":"colors","first":F,"count":C}` | the task's colors from now on; comes again when others come and go |
//! | coordinator | `{"reply":"status",...}` | |
//! | coordinator | `{"reply":"refused","reason":R,"message":M}` | |
//!
//! A wish is `{"colors":N}`, `{"class":"A"}`, or `{"curve":{"references":R,"misses":[..]}}`, the misses for 1, 2, ... colors. A message that is not understood is
//! refused and ends the connection. The task ends with its connection.

use pagemill_policy::coloring::{Color, ColorRange, MissCurve, Sensitivity, Wish};
use serde::{Deserialize, Serialize};

/// Longest message, in bytes, in either direction.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Contiguous colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Colors {
    /// The lowest.
    pub first: u16,
    /// How many; at least 1.
    pub count: u16,
}

/// What a task asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Need {
    /// So many colors.
    Colors(u16),
    /// What tasks of this class need: A, B, C or D.
    Class(String),
    /// What its miss curve says.
    Curve {
        /// References to the cache.
        references: u64,
        /// Misses with 1, 2, ... colors.
        misses: Vec<u64>,
    },
}

/// What a holder says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// A task runs.
    Join {
        /// What to call it.
        name: String,
        /// Its first process.
        process: u32,
        /// What it asks for.
        wish: Need,
        /// Colors that it has, where it joined another coordinator before.
        #[serde(default)]
        has: Option<Colors>,
        /// Pages that it has.
        #[serde(default)]
        pages: u64,
    },
    /// The task has these colors now.
    Holds {
        /// Its colors.
        has: Colors,
        /// Pages that it has.
        pages: u64,
        /// Of these, pages to be copied when they are touched.
        planned: u64,
    },
    /// How the coordinator stands.
    Status {},
}

/// What the coordinator says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Answer {
    /// The task's colors from now on.
    Colors(Colors),
    /// How the coordinator stands.
    Status(Status),
    /// No.
    Refused {
        /// For programs.
        reason: Reason,
        /// For people.
        message: String,
    },
}

/// Why the coordinator says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Too few colors for another task.
    Full,
    /// The user has too many connections.
    Quota,
    /// Not a message of this protocol, or not now.
    Garbage,
}

/// How the coordinator stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Colors of the cache.
    pub colors: u16,
    /// How they are divided.
    pub policy: String,
    /// Running tasks, in the order of their colors.
    pub tasks: Vec<TaskStatus>,
    /// Events since the coordinator was started.
    pub counters: Counters,
}

/// A running task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// What it is called.
    pub name: String,
    /// Its first process, as it says.
    pub process: u32,
    /// Whose it is, as the kernel says.
    pub user: u32,
    /// What it asked for.
    pub wish: Need,
    /// Its colors.
    pub given: Option<Colors>,
    /// The colors that its memory was last told to have.
    pub has: Option<Colors>,
    /// Pages that it had then.
    pub pages: u64,
    /// Pages to be copied after that change.
    pub planned: u64,
}

/// Events since the coordinator was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Tasks that joined.
    pub joined: u64,
    /// Tasks that ended.
    pub left: u64,
    /// Tasks that were refused.
    pub refused: u64,
    /// Times that a task was assigned other colors than before.
    pub changes: u64,
    /// Connections ended for a message that was not understood.
    pub garbage: u64,
}

impl Need {
    /// What it means to the policy, for a cache of `colors`.
    ///
    /// # Errors
    /// There is no such class, or the curve is none.
    pub fn wish(&self, colors: u16) -> Result<Wish, String> {
        match self {
            Self::Colors(0) => Err("a task needs at least 1 color".to_owned()),
            Self::Colors(count) => Ok(Wish::Colors(*count)),
            Self::Class(letter) => Sensitivity::from_letter(letter)
                .map(|class| Wish::Curve(class.typical_curve(colors)))
                .ok_or_else(|| format!("there is no class {letter:?}: A, B, C or D")),
            Self::Curve { references, misses } => MissCurve::new(*references, misses.clone())
                .map(Wish::Curve)
                .map_err(|error| error.to_string()),
        }
    }
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Colors(count) => write!(f, "{count} colors"),
            Self::Class(letter) => write!(f, "class {}", letter.to_uppercase()),
            Self::Curve { .. } => f.write_str("a curve"),
        }
    }
}

impl Colors {
    /// The range, if it is one.
    pub fn range(self) -> Option<ColorRange> {
        ColorRange::new(Color(self.first), self.count)
    }
}

impl From<ColorRange> for Colors {
    fn from(range: ColorRange) -> Self {
        Self {
            first: range.first().0,
            count: range.count(),
        }
    }
}

impl std::fmt::Display for Colors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.range() {
            Some(range) => write!(f, "{range}"),
            None => f.write_str("none"),
        }
    }
}
