//! The dotted parts of an opcode, taken one by one; a part that is left over is an error.

use pagemill_ptx_ir::ast::Type;

/// The parts behind the opcode's name.
#[derive(Debug)]
pub(super) struct Modifiers<'a> {
    parts: Vec<Option<&'a str>>,
    are_ignored: bool,
    pub name: &'a str,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(opcode: &'a [String]) -> Self {
        let (name, parts) = opcode
            .split_first()
            .map_or(("", &[][..]), |(name, parts)| (name.as_str(), parts));
        Self {
            parts: parts.iter().map(|part| Some(part.as_str())).collect(),
            are_ignored: false,
            name,
        }
    }

    /// Whether `part` is there and not taken yet.
    pub(super) fn has(&self, part: &str) -> bool {
        self.parts.contains(&Some(part))
    }

    /// Whether `part` is there; it then counts as understood.
    pub(super) fn take(&mut self, part: &str) -> bool {
        let found = self.parts.iter_mut().find(|slot| **slot == Some(part));
        found.is_some_and(|slot| slot.take().is_some())
    }

    /// The first of `choices` that is there.
    pub(super) fn take_one(&mut self, choices: &[&'static str]) -> Option<&'static str> {
        // In the order of the choices, not of the text.
        choices.iter().copied().find(|choice| self.take(choice))
    }

    /// The first part not taken yet that `accept` makes something of.
    pub(super) fn take_map<T>(&mut self, accept: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (slot, value) = self
            .parts
            .iter_mut()
            .find_map(|slot| Some((accept((*slot)?)?, slot)))
            .map(|(v, s)| (s, v))?;
        *slot = None;
        Some(value)
    }

    /// The first type not taken yet.
    pub(super) fn take_type(&mut self) -> Option<Type> {
        self.take_map(Type::from_name)
    }

    /// Takes whatever is left.
    pub(super) fn take_all(&mut self) {
        self.parts.clear();
        self.are_ignored = true;
    }

    /// Whether all of it was taken, whatever it is, as the instruction has no effect here.
    pub(super) fn are_ignored(&self) -> bool {
        self.are_ignored
    }

    /// The first part that is left over.
    pub(super) fn left(&self) -> Option<&'a str> {
        self.parts.iter().find_map(|slot| *slot)
    }
}
