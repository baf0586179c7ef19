//! Keys of a machine file, declared a line each: `keys!` makes what reads them.

use crate::document::Node;
use crate::quantity::Wrong;
use crate::sourced::SourcedSection;

/// How a key becomes a value. A reader of `quantity` is one, of a key that has to be there.
pub(crate) trait ReadKey<T> {
    /// The value of `key`; `None` when something is wrong, which is then noted.
    fn read(self, section: &mut SourcedSection<'_>, key: &str) -> Option<T>;
}

impl<T, F: Fn(&Node) -> Result<T, Wrong>> ReadKey<T> for F {
    fn read(self, section: &mut SourcedSection<'_>, key: &str) -> Option<T> {
        section.value(key, self)
    }
}

/// Reads by the section and the name of the key.
struct By<F>(F);

impl<T, F: FnOnce(&mut SourcedSection<'_>, &str) -> Option<T>> ReadKey<T> for By<F> {
    fn read(self, section: &mut SourcedSection<'_>, key: &str) -> Option<T> {
        self.0(section, key)
    }
}

/// The value of a dotted key: what is before a dot is a section, which has to be there.
pub(crate) fn read_key<T>(
    section: &mut SourcedSection<'_>,
    key: &str,
    reader: impl ReadKey<T>,
) -> Option<T> {
    match key.split_once('.') {
        Some((outer, key)) => read_key(&mut section.section(outer)?, key, reader),
        None => reader.read(section, key),
    }
}

/// A key that may be absent.
pub(crate) fn optional<T>(parse: impl Fn(&Node) -> Result<T, Wrong>) -> impl ReadKey<Option<T>> {
    By(move |section: &mut SourcedSection<'_>, key: &str| section.optional(key, parse))
}

/// A key that is `default` where it is absent.
pub(crate) fn or<T>(default: T, parse: impl Fn(&Node) -> Result<T, Wrong>) -> impl ReadKey<T> {
    By(move |section: &mut SourcedSection<'_>, key: &str| {
        Some(section.optional(key, parse)?.unwrap_or(default))
    })
}

/// A key that is its type's default where it is absent.
pub(crate) fn or_default<T: Default>(parse: impl Fn(&Node) -> Result<T, Wrong>) -> impl ReadKey<T> {
    or(T::default(), parse)
}

/// A section, which has to be there.
pub(crate) fn section<T>(
    read: impl FnOnce(&mut SourcedSection<'_>) -> Option<T>,
) -> impl ReadKey<T> {
    By(move |above: &mut SourcedSection<'_>, key: &str| read(&mut above.section(key)?))
}

/// A section that may be absent.
pub(crate) fn optional_section<T>(
    read: impl FnOnce(&mut SourcedSection<'_>) -> Option<T>,
) -> impl ReadKey<Option<T>> {
    By(
        move |above: &mut SourcedSection<'_>, key: &str| match above.contains(key) {
            true => read(&mut above.section(key)?).map(Some),
            false => Some(None),
        },
    )
}

/// Keys of the same section that make one value.
pub(crate) fn part<T>(read: impl FnOnce(&mut SourcedSection<'_>) -> Option<T>) -> impl ReadKey<T> {
    By(move |section: &mut SourcedSection<'_>, _: &str| read(section))
}

/// Keys of the same section that make one value, absent where the section has none of `keys`.
pub(crate) fn if_any<T>(
    keys: &'static [&str],
    read: impl FnOnce(&mut SourcedSection<'_>) -> Option<T>,
) -> impl ReadKey<Option<T>> {
    By(move |section: &mut SourcedSection<'_>, _: &str| {
        match keys.iter().any(|key| section.contains(key)) {
            true => read(section).map(Some),
            false => Some(None),
        }
    })
}

/// One way to read where the section has `key`, another where it has not.
pub(crate) fn either<T>(
    key: &'static str,
    with: impl ReadKey<T>,
    without: impl ReadKey<T>,
) -> impl ReadKey<T> {
    By(
        move |section: &mut SourcedSection<'_>, name: &str| match section.contains(key) {
            true => with.read(section, name),
            false => without.read(section, name),
        },
    )
}

/// What reads a section into a structure, or a variant of an enumeration: `field = "key": reader`, the key left out where it is the
/// field's name, and several fields before a reader that they have in common. `let` is read like a field and is none; `with` makes
/// fields of such values.
macro_rules! keys {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $spec:ident $(:: $variant:ident)? { $($lines:tt)* } $(with { $($made:tt)* })?)+) => {$(
        fn $name(
            section: &mut $crate::sourced::SourcedSection<'_>,
            $($arg: $type),*
        ) -> Option<$spec> {
            keys!(@line section [$spec $(:: $variant)?] [$($($made)*)?] [] [] $($lines)*)
        }
    )+};
    (@line $section:ident $spec:tt $made:tt [$($read:tt)*] $fields:tt
        let $name:ident $(= $key:literal)?: $reader:expr $(, $($rest:tt)*)?
    ) => {
        keys!(@line $section $spec $made
            [$($read)* ($name keys!(@name $name $($key)?), $reader)] $fields $($($rest)*)?)
    };
    (@line $section:ident $spec:tt $made:tt [$($read:tt)*] [$($field:ident)*]
        $($name:ident $(= $key:literal)?),+: $reader:expr $(, $($rest:tt)*)?
    ) => {
        keys!(@line $section $spec $made
            [$($read)* $(($name keys!(@name $name $($key)?), $reader))+] [$($field)* $($name)+] $($($rest)*)?)
    };
    // Every key is read before the first `?`, so that all problems are reported at once.
    (@line $section:ident [$($spec:tt)+] [$($made:tt)*]
        [$(($name:ident $key:expr, $reader:expr))+] [$($field:ident)*]
    ) => {{
        let ($($name,)+) = ($($crate::keys::read_key($section, $key, $reader),)+);
        let ($($name,)+) = ($($name?,)+);
        Some($($spec)+ { $($field,)* $($made)* })
    }};
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $key:literal) => { $key };
    ($spec:ident $(:: $variant:ident)? { $($lines:tt)* } $(with { $($made:tt)* })?) => {
        |section: &mut $crate::sourced::SourcedSection<'_>| {
            keys!(@line section [$spec $(:: $variant)?] [$($($made)*)?] [] [] $($lines)*)
        }
    };
}
pub(crate) use keys;
