/// The kind of memory that a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Nothing is changed.
    AsIs,
    /// Transparent huge pages for large allocations, by the preload library.
    Transparent,
    /// Transparent huge pages for all that `malloc` hands out, by glibc.
    GlibcTransparent,
    /// Pages of 4 KiB only.
    Small,
    /// Large allocations are there, and cleared, when they return.
    Populate,
    /// Huge pages of the kernel's stock for `malloc`, by glibc.
    GlibcHugetlb,
    /// Huge pages of the kernel's stock for large allocations, by the preload library.
    Hugetlb,
    /// Clean huge pages of the pool for large allocations.
    Pool,
}

impl Setting {
    /// All, the simplest first: of two that are equally fast, the first is advised.
    pub const ALL: [Self; 8] = [
        Self::AsIs,
        Self::Transparent,
        Self::GlibcTransparent,
        Self::Small,
        Self::Populate,
        Self::GlibcHugetlb,
        Self::Hugetlb,
        Self::Pool,
    ];

    /// How tables name it.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// What a user does to have it, without the program's own words.
    pub fn how(self) -> &'static str {
        self.facts().1
    }

    /// The source that the preload library uses, if it takes part.
    pub fn source(self) -> Option<&'static str> {
        self.facts().2
    }

    /// The tunable of glibc's `malloc`, if it takes part.
    pub fn tunable(self) -> Option<&'static str> {
        self.facts().3
    }

    /// Name, how to have it, source of the preload library, tunable of glibc.
    #[rustfmt::skip]
    fn facts(self) -> (&'static str, &'static str, Option<&'static str>, Option<&'static str>) {
        match self {
            Self::AsIs => ("as-is", "change nothing", None, None),
            Self::Transparent => ("thp", "pagemill zero run --source thp -- PROGRAM", Some("thp"), None),
            Self::GlibcTransparent => ("glibc-thp", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PROGRAM", None, Some("glibc.malloc.hugetlb=1")),
            Self::Small => ("4k", "as root: echo never > /sys/kernel/mm/transparent_hugepage/enabled", None, None),
            Self::Populate => ("populate", "pagemill zero run --source populate -- PROGRAM", Some("populate"), None),
            Self::GlibcHugetlb => ("glibc-hugetlb", "reserve pages (as root: echo N > /proc/sys/vm/nr_hugepages), then GLIBC_TUNABLES=glibc.malloc.hugetlb=2 PROGRAM", None, Some("glibc.malloc.hugetlb=2")),
            Self::Hugetlb => ("hugetlb", "reserve pages (as root: echo N > /proc/sys/vm/nr_hugepages), then pagemill zero run --source hugetlb -- PROGRAM", Some("hugetlb"), None),
            Self::Pool => ("pool", "pagemill zero serve --pages N --reserve (as root), then pagemill zero run -- PROGRAM", Some("pool"), None),
        }
    }

    /// Whether it takes huge pages of the kernel's stock.
    pub fn takes_stock(self) -> bool {
        matches!(self, Self::GlibcHugetlb | Self::Hugetlb | Self::Pool)
    }
}
