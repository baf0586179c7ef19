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
        match self {
            Self::AsIs => "as-is",
            Self::Transparent => "thp",
            Self::GlibcTransparent => "glibc-thp",
            Self::Small => "4k",
            Self::Populate => "populate",
            Self::GlibcHugetlb => "glibc-hugetlb",
            Self::Hugetlb => "hugetlb",
            Self::Pool => "pool",
        }
    }

    /// What a user does to have it, without the program's own words.
    pub fn how(self) -> &'static str {
        match self {
            Self::AsIs => "change nothing",
            Self::Transparent => "pagemill zero run --source thp -- PROGRAM",
            Self::GlibcTransparent => "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PROGRAM",
            Self::Small => "as root: echo never > /sys/kernel/mm/transparent_hugepage/enabled",
            Self::Populate => "pagemill zero run --source populate -- PROGRAM",
            Self::GlibcHugetlb => {
                "reserve pages (as root: echo N > /proc/sys/vm/nr_hugepages), then GLIBC_TUNABLES=glibc.malloc.hugetlb=2 PROGRAM"
            }
            Self::Hugetlb => {
                "reserve pages (as root: echo N > /proc/sys/vm/nr_hugepages), then pagemill zero run --source hugetlb -- PROGRAM"
            }
            Self::Pool => {
                "pagemill zero serve --pages N --reserve (as root), then pagemill zero run -- PROGRAM"
            }
        }
    }

    /// The source that the preload library uses, if it takes part.
    pub fn source(self) -> Option<&'static str> {
        match self {
            Self::Transparent => Some("thp"),
            Self::Populate => Some("populate"),
            Self::Hugetlb => Some("hugetlb"),
            Self::Pool => Some("pool"),
            Self::AsIs | Self::GlibcTransparent | Self::Small | Self::GlibcHugetlb => None,
        }
    }

    /// The tunable of glibc's `malloc`, if it takes part.
    pub fn tunable(self) -> Option<&'static str> {
        match self {
            Self::GlibcTransparent => Some("glibc.malloc.hugetlb=1"),
            Self::GlibcHugetlb => Some("glibc.malloc.hugetlb=2"),
            _ => None,
        }
    }

    /// Whether it takes huge pages of the kernel's stock.
    pub fn takes_stock(self) -> bool {
        matches!(self, Self::GlibcHugetlb | Self::Hugetlb | Self::Pool)
    }
}
