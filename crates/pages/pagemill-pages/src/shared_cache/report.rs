use pagemill_policy::coloring::ColorRange;
use pagemill_types::Picos;

/// How a task used the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// References to its core's own cache.
    pub references: u64,
    /// Those that missed there and went to the shared cache.
    pub shared_references: u64,
    /// Those that missed there too.
    pub misses: u64,
    /// Misses that there would not be if no other task used the shared cache.
    pub misses_by_others: u64,
}

/// What one task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskReport {
    /// Its own references.
    pub cache: CacheUse,
    /// Those of copying its pages.
    pub copy_cache: CacheUse,
    /// When it ended.
    pub end: Picos,
    /// Pages that it touched.
    pub pages: u64,
    /// Pages that were copied to another color.
    pub copied_pages: u64,
    /// Pages that were unmapped and found in place when they were touched.
    pub remapped_pages: u64,
    /// Pages that still were to be copied at the end, because they were not touched.
    pub uncopied_pages: u64,
    /// What changes of its colors cost it: unmapping, flushing, faults and copies.
    pub recolor_time: Picos,
    /// Changes of its colors.
    pub recolorings: u64,
    /// Its colors at the start, where it had some.
    pub first_colors: Option<ColorRange>,
    /// Its colors at the end, where it had some.
    pub colors: Option<ColorRange>,
}
