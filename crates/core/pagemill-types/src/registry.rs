use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;

/// Something that files and commands ask for by name.
pub trait Named {
    /// The name, the same in every run.
    fn name(&self) -> &'static str;
}

/// All entries of one kind, in the order of listings: the one place that knows them.
///
/// ```
/// use pagemill_types::{Named, Registry, named};
///
/// struct Shape { name: &'static str, corners: u32 }
/// named!(Shape);
///
/// static SHAPES: Registry<Shape> = Registry::new("shape", &[Shape { name: "square", corners: 4 }]);
/// assert_eq!(SHAPES.find("square").unwrap().corners, 4);
/// assert_eq!(SHAPES.find("cube").unwrap_err().to_string(), "there is no shape \"cube\": use one of square");
/// ```
#[derive(Debug)]
pub struct Registry<T: 'static> {
    kind: &'static str,
    entries: &'static [T],
}

impl<T> Registry<T> {
    /// A registry of what `kind` names in the singular.
    pub const fn new(kind: &'static str, entries: &'static [T]) -> Self {
        Self { kind, entries }
    }
}

/// An entry that a caller lends to the registry of its type, see [`with_lent`].
pub type Lent = &'static (dyn Any + Send + Sync);

thread_local! {
    static LENT: RefCell<Vec<Lent>> = const { RefCell::new(Vec::new()) };
}

/// Does `work`, for which the registries of this thread also find `entries` by name: policies that are no part of this program.
///
/// ```
/// use pagemill_types::{Named, Registry, named, with_lent};
///
/// struct Shape { name: &'static str }
/// named!(Shape);
///
/// static SHAPES: Registry<Shape> = Registry::new("shape", &[Shape { name: "square" }]);
/// static CUBE: Shape = Shape { name: "cube" };
/// assert!(with_lent(&[&CUBE], || SHAPES.find("cube")).is_ok());
/// assert!(SHAPES.find("cube").is_err());
/// ```
pub fn with_lent<R>(entries: &[Lent], work: impl FnOnce() -> R) -> R {
    /// Takes the entries back, also when `work` panics.
    struct TakeBack(usize);
    impl Drop for TakeBack {
        fn drop(&mut self) {
            LENT.with_borrow_mut(|lent| lent.truncate(self.0));
        }
    }
    let _take_back = LENT.with_borrow_mut(|lent| {
        let before = lent.len();
        lent.extend_from_slice(entries);
        TakeBack(before)
    });
    work()
}

impl<T: Named> Registry<T> {
    /// The entries, and then those that are lent to this thread.
    pub fn all(&self) -> impl Iterator<Item = &'static T> + use<T> {
        let lent = LENT.with_borrow(Clone::clone).into_iter();
        let lent = lent.filter_map(|entry| (entry as &'static dyn Any).downcast_ref::<T>());
        self.entries.iter().chain(lent)
    }

    /// The entry called `name`.
    ///
    /// # Errors
    /// There is none; the message lists those there are.
    pub fn find(&self, name: &str) -> Result<&'static T, UnknownName> {
        let known = self.all().find(|entry| entry.name() == name);
        known.ok_or_else(|| UnknownName {
            kind: self.kind,
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Every name, in the order of listings.
    pub fn names(&self) -> Vec<&'static str> {
        self.all().map(Named::name).collect()
    }
}

impl<T> Deref for Registry<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.entries
    }
}

impl<T> IntoIterator for &Registry<T> {
    type Item = &'static T;
    type IntoIter = std::slice::Iter<'static, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

/// A name that a registry does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What was asked for, in the singular.
    pub kind: &'static str,
    /// The name that was given.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, known } = self;
        write!(
            f,
            "there is no {kind} \"{name}\": use one of {}",
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownName {}

/// Makes a struct with a field `name` a registry's entry: two of one name are one.
#[macro_export]
macro_rules! named {
    ($entry:ty) => {
        impl $crate::Named for $entry {
            fn name(&self) -> &'static str {
                self.name
            }
        }

        impl std::fmt::Debug for $entry {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($entry), "({})"), self.name)
            }
        }

        impl PartialEq for $entry {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $entry {}
    };
}
