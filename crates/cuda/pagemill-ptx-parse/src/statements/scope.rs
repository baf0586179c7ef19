//! Which name means what inside a function: registers, variables and labels in nested scopes.
//!
//! Scopes are flattened. A register gets its own entry in the function's table the first time it is used; a variable
//! or label of an inner scope is renamed when its name is taken.

use crate::tokens::error::{Parse, ParseError};
use crate::tokens::parser::NESTING_MAX;
use crate::tokens::suggest::nearest;
use pagemill_ptx_ir::ast::{Function, Line, Register, RegisterId, Type};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a name in an operand stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    Register(RegisterId),
    /// `.reg .v4 .f32 v`: its components, two or four.
    VectorRegister(Vec<RegisterId>),
    /// A variable or parameter, by the name it has in the AST.
    Variable(String),
}

/// `%r<57>`
struct RegisterRange {
    count: u64,
    ty: Type,
}

struct Scope<'t> {
    /// Which scope of the function this is, in order of their opening.
    number: u32,
    names: HashMap<&'t str, Meaning>,
    ranges: HashMap<&'t str, RegisterRange>,
}

/// Where in the function a name was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Site {
    /// An operand of an instruction, by index.
    Instruction(usize),
    /// A list of `.branchtargets`, by index.
    BranchTargets(usize),
}

/// A name used as an operand that was no register or variable when it was met: a label or a symbol of the module.
struct Forward<'t> {
    name: &'t str,
    line: Line,
    /// The scopes it was used in, outermost first.
    scopes: Vec<u32>,
    site: Site,
}

/// The open scopes of the function being parsed.
pub(crate) struct Scopes<'t> {
    open: Vec<Scope<'t>>,
    scopes_opened: u32,
    /// Names that variables and labels of the function have in the AST.
    taken: HashSet<String>,
    /// How often each name has been renamed.
    renames: HashMap<&'t str, u32>,
    labels: HashMap<(u32, &'t str), String>,
    forwards: Vec<Forward<'t>>,
}

impl<'t> Scopes<'t> {
    pub(crate) fn new() -> Self {
        let mut scopes = Self {
            open: Vec::new(),
            scopes_opened: 0,
            taken: HashSet::new(),
            renames: HashMap::new(),
            labels: HashMap::new(),
            forwards: Vec::new(),
        };
        scopes.push();
        scopes
    }

    fn push(&mut self) {
        let number = self.scopes_opened;
        self.scopes_opened += 1;
        self.open.push(Scope {
            number,
            names: HashMap::new(),
            ranges: HashMap::new(),
        });
    }

    /// Opens a scope.
    pub(crate) fn open(&mut self, line: Line) -> Parse<()> {
        if self.open.len() > NESTING_MAX as usize {
            return Err(ParseError::new(
                line,
                format!("scopes nested deeper than {NESTING_MAX} levels"),
            ));
        }
        self.push();
        Ok(())
    }

    /// Closes the innermost scope; false when that was the function's own.
    pub(crate) fn close(&mut self) -> bool {
        self.open.pop();
        !self.open.is_empty()
    }

    fn innermost(&mut self) -> &mut Scope<'t> {
        self.open
            .last_mut()
            .expect("a function's own scope is open until its body ends")
    }

    fn bind(&mut self, name: &'t str, meaning: Meaning, line: Line) -> Parse<()> {
        match self.innermost().names.insert(name, meaning) {
            None => Ok(()),
            Some(_) => Err(ParseError::new(
                line,
                format!("`{name}` is declared twice in this scope"),
            )),
        }
    }

    /// Declares `.reg .ty name`.
    pub(crate) fn declare_register(
        &mut self,
        function: &mut Function,
        name: &'t str,
        ty: Type,
        line: Line,
    ) -> Parse<()> {
        let id = add_register(function, name.to_owned(), ty);
        self.bind(name, Meaning::Register(id), line)
    }

    /// Declares `.reg .vN .ty name`.
    pub(crate) fn declare_vector_register(
        &mut self,
        function: &mut Function,
        name: &'t str,
        (ty, lanes): (Type, usize),
        line: Line,
    ) -> Parse<()> {
        let component = |letter| add_register(function, format!("{name}.{letter}"), ty);
        let ids = ["x", "y", "z", "w"]
            .into_iter()
            .take(lanes)
            .map(component)
            .collect();
        self.bind(name, Meaning::VectorRegister(ids), line)
    }

    /// Declares `.reg .ty name<count>`.
    pub(crate) fn declare_range(
        &mut self,
        name: &'t str,
        ty: Type,
        count: u64,
        line: Line,
    ) -> Parse<()> {
        match self
            .innermost()
            .ranges
            .insert(name, RegisterRange { count, ty })
        {
            None => Ok(()),
            Some(_) => Err(ParseError::new(
                line,
                format!("`{name}<...>` is declared twice in this scope"),
            )),
        }
    }

    /// Declares a variable or parameter and returns its name in the AST.
    pub(crate) fn declare_variable(
        &mut self,
        name: &'t str,
        line: Line,
        is_module_name: impl Fn(&str) -> bool,
    ) -> Parse<String> {
        let unique = self.unique(name, is_module_name);
        self.bind(name, Meaning::Variable(unique.clone()), line)?;
        Ok(unique)
    }

    /// Declares a label of the innermost scope and returns its name in the AST.
    pub(crate) fn declare_label(&mut self, name: &'t str, line: Line) -> Parse<String> {
        let unique = self.unique(name, |_| false);
        let key = (self.innermost().number, name);
        match self.labels.insert(key, unique.clone()) {
            None => Ok(unique),
            Some(_) => Err(ParseError::new(
                line,
                format!("label `{name}` is declared twice in this scope"),
            )),
        }
    }

    fn unique(&mut self, name: &'t str, is_taken: impl Fn(&str) -> bool) -> String {
        let mut unique = name.to_owned();
        while is_taken(&unique) || self.taken.contains(&unique) {
            let count = self.renames.entry(name).or_default();
            *count += 1;
            unique = format!("{name}${count}");
        }
        self.taken.insert(unique.clone());
        unique
    }

    /// What `name` means here, innermost scope first.
    pub(crate) fn meaning(&mut self, function: &mut Function, name: &'t str) -> Option<Meaning> {
        for scope in self.open.iter_mut().rev() {
            if let Some(meaning) = scope.names.get(name) {
                return Some(meaning.clone());
            }
            if let Some(ty) = scope.type_in_ranges(name) {
                let meaning = Meaning::Register(add_register(function, name.to_owned(), ty));
                scope.names.insert(name, meaning.clone());
                return Some(meaning);
            }
        }
        None
    }

    /// Notes that `name` is used at `site`, to be resolved when the function ends.
    pub(crate) fn note_forward(&mut self, name: &'t str, line: Line, site: Site) {
        let scopes = self.open.iter().map(|scope| scope.number).collect();
        self.forwards.push(Forward {
            name,
            line,
            scopes,
            site,
        });
    }

    /// Resolves every noted name: calls `rename` once for each site where labels go by another name in the AST, with
    /// those names, and returns what is no label, with lines.
    pub(crate) fn resolve(
        &self,
        mut rename: impl FnMut(Site, &HashMap<&str, &str>),
    ) -> Vec<(&'t str, Line)> {
        let mut unresolved = Vec::new();
        // The notes of one site stand together.
        for of_site in self.forwards.chunk_by(|a, b| a.site == b.site) {
            let mut renamed = HashMap::new();
            for forward in of_site {
                match self.label_of(forward) {
                    Some(label) if label != forward.name => {
                        renamed.insert(forward.name, label);
                    }
                    Some(_) => {}
                    None => unresolved.push((forward.name, forward.line)),
                }
            }
            if !renamed.is_empty() {
                rename(of_site[0].site, &renamed);
            }
        }
        unresolved
    }

    fn label_of(&self, forward: &Forward<'t>) -> Option<&str> {
        let innermost_first = forward.scopes.iter().rev();
        innermost_first
            .map(|&scope| self.labels.get(&(scope, forward.name)))
            .find_map(|label| label.map(String::as_str))
    }

    /// The error for a register that was never declared.
    pub(crate) fn undeclared_register(&self, name: &'t str, line: Line) -> ParseError {
        let declared = self.open.iter().rev();
        let range = declared
            .clone()
            .find_map(|scope| scope.ranges_of(name).next());
        let help = match range {
            Some((prefix, range)) if range.count > 0 => Some(format!(
                "`{prefix}<{}>` declares {prefix}0 to {prefix}{}",
                range.count,
                range.count - 1
            )),
            _ => {
                let sorted: BTreeMap<&str, ()> = declared
                    .flat_map(|scope| scope.names.keys().map(|name| (*name, ())))
                    .collect();
                nearest(name, sorted.into_keys())
            }
        };
        ParseError::new(
            line,
            format!(
                "register `{}` is not declared",
                crate::tokens::token::shorten(name)
            ),
        )
        .with_help(help)
    }
}

impl Scope<'_> {
    fn type_in_ranges(&self, name: &str) -> Option<Type> {
        self.ranges_of(name).find_map(|(prefix, range)| {
            let index = name[prefix.len()..].parse::<u64>().ok()?;
            (index < range.count).then_some(range.ty)
        })
    }

    /// The ranges `name` belongs to by its spelling, whatever its index: `%r<57>` for `%r99`.
    fn ranges_of<'n>(&self, name: &'n str) -> impl Iterator<Item = (&'n str, &RegisterRange)> {
        const DIGITS_MAX: usize = 10;
        let bytes = name.as_bytes();
        let digits = bytes
            .iter()
            .rev()
            .take(DIGITS_MAX)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let splits = (bytes.len() - digits)..bytes.len();
        splits
            .filter(move |&split| bytes[split] != b'0' || split + 1 == bytes.len())
            .filter_map(move |split| {
                self.ranges
                    .get(&name[..split])
                    .map(|range| (&name[..split], range))
            })
    }
}

fn add_register(function: &mut Function, name: String, ty: Type) -> RegisterId {
    let id = RegisterId(function.registers.len() as u32);
    function.registers.push(Register { name, ty });
    id
}
