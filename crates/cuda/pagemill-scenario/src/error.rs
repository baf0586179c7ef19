use std::fmt;

use crate::document::Origin;
use crate::snippet::Message;

/// One thing that is wrong with the input: what, where, and the remedy.
#[derive(Debug)]
pub struct Problem {
    message: String,
    place: Option<Origin>,
    label: Option<String>,
    help: Option<String>,
}

impl Problem {
    /// A problem without a place in a text, such as a missing file.
    pub fn new(message: String) -> Self {
        Self {
            message,
            place: None,
            label: None,
            help: None,
        }
    }

    /// A problem at `origin`.
    pub fn at(origin: &Origin, message: String) -> Self {
        Self {
            place: origin.source.is_shown().then(|| origin.clone()),
            ..Self::new(message)
        }
    }

    /// Says what the marked place is.
    pub fn label(mut self, label: String) -> Self {
        self.label = Some(label);
        self
    }

    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let place = |problem: &Self| problem.place.as_ref().map(Origin::id);
        self.message == other.message && place(self) == place(other)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// Everything that is wrong with the input of one command; never empty.
#[derive(Debug)]
pub struct InputErrors {
    problems: Vec<Problem>,
}

impl InputErrors {
    pub(crate) fn new(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty(), "an error without a problem");
        Self { problems }
    }

    /// The problems, in the order they were met.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every problem with the lines it is about, for a terminal; `color` uses escape codes.
    pub fn render(&self, color: bool) -> String {
        let show = |problem: &Problem| {
            let place = problem.place.as_ref();
            let message = Message {
                text: &problem.message,
                place: place.map(|origin| (&*origin.source, origin.span.clone())),
                label: problem.label.as_deref(),
                help: problem.help.as_deref(),
            };
            message.render(color)
        };
        self.problems
            .iter()
            .map(show)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl From<Problem> for InputErrors {
    fn from(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InputErrors {}
