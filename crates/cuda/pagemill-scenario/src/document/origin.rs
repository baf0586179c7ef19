use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ARGUMENT: &str = "--set";
const BUILT_IN: &str = " (built in)";

/// A text that values are read from: a file, a built-in file, or a `--set` argument.
#[derive(Debug)]
pub struct SourceText {
    name: String,
    folder: Option<PathBuf>,
    is_shown: bool,
    text: String,
}

impl SourceText {
    /// The text of the file at `path`, shown under that path.
    pub fn file(path: &Path, text: String) -> Arc<Self> {
        let folder = path.parent().map(Path::to_path_buf);
        Self::new(path.display().to_string(), folder, text)
    }

    /// A file that was compiled in; it has no folder on disk.
    pub fn built_in(name: &str, text: &str) -> Arc<Self> {
        Self::new(format!("{name}{BUILT_IN}"), None, text.to_owned())
    }

    /// A text made in memory; it has no folder on disk.
    pub fn given(name: &str, text: &str) -> Arc<Self> {
        Self::new(name.to_owned(), None, text.to_owned())
    }

    /// A text that a command made of its options: messages show no place in it, since its lines are in no file.
    pub fn of_options(name: &str, text: &str) -> Arc<Self> {
        Self::shown(name.to_owned(), None, text.to_owned(), false)
    }

    /// The `key=value` of one `--set` argument.
    pub fn argument(text: &str) -> Arc<Self> {
        Self::new(ARGUMENT.to_owned(), None, text.to_owned())
    }

    /// Whether this is a `--set` argument.
    pub fn is_argument(&self) -> bool {
        self.name == ARGUMENT
    }

    fn new(name: String, folder: Option<PathBuf>, text: String) -> Arc<Self> {
        Self::shown(name, folder, text, true)
    }

    fn shown(name: String, folder: Option<PathBuf>, text: String, is_shown: bool) -> Arc<Self> {
        Arc::new(Self {
            name,
            folder,
            is_shown,
            text,
        })
    }

    /// How messages call this text: a path, or `--set`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's name without `.toml`.
    pub fn stem(&self) -> String {
        let path = Path::new(self.name.strip_suffix(BUILT_IN).unwrap_or(&self.name));
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Whether messages show the lines that they are about.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// The folder of the file, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The text itself.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Where a key or a value was written.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The text it stands in.
    pub source: Arc<SourceText>,
    /// Its bytes in that text.
    pub span: Range<usize>,
}

impl Origin {
    /// The place `span` of `source`.
    pub fn new(source: &Arc<SourceText>, span: Range<usize>) -> Self {
        Self {
            source: Arc::clone(source),
            span,
        }
    }

    /// An identity that is equal for equal places of one load, and for nothing else.
    pub(crate) fn id(&self) -> (usize, usize, usize) {
        (
            Arc::as_ptr(&self.source) as usize,
            self.span.start,
            self.span.end,
        )
    }
}
