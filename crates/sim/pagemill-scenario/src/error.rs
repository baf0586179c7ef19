use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};

use crate::document::{Origin, SourceText};

/// One thing that is wrong with the input: what, where, and the remedy.
#[derive(Debug)]
pub struct Problem {
    message: String,
    place: Option<(Arc<SourceText>, LabeledSpan)>,
    help: Option<String>,
}

impl Problem {
    /// A problem without a place in a text, such as a missing file.
    pub fn new(message: String) -> Self {
        Self {
            message,
            place: None,
            help: None,
        }
    }

    /// A problem at `origin`.
    pub fn at(origin: &Origin, message: String) -> Self {
        let span = LabeledSpan::underline(origin.span.clone());
        Self {
            message,
            place: Some((Arc::clone(&origin.source), span)),
            help: None,
        }
    }

    /// Says what the marked place is.
    pub fn label(mut self, label: String) -> Self {
        if let Some((_, span)) = &mut self.place {
            span.set_label(Some(label));
        }
        self
    }

    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let place = |problem: &Self| {
            problem
                .place
                .as_ref()
                .map(|(source, span)| (Arc::as_ptr(source) as usize, span.offset(), span.len()))
        };
        self.message == other.message && place(self) == place(other)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place
            .as_ref()
            .map(|(source, _)| source.named() as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.place.as_ref()?;
        Some(Box::new(std::iter::once(span.clone())))
    }
}

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
        let theme = if color {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_wrap_lines(false)
            .with_context_lines(1);
        let show = |problem: &Problem| {
            let mut text = String::new();
            match handler.render_report(&mut text, problem) {
                Ok(()) => text,
                Err(_) => problem.to_string(),
            }
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
