use std::path::PathBuf;

use pagemill_linux::transparent::TransparentPages;

use super::setting::Setting;

/// Where the pool is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolPlace {
    /// One that serves already, here.
    Served(PathBuf),
    /// One of this process, for each run.
    Own,
}

/// What decides which settings can be tried.
#[derive(Clone, Debug)]
pub struct Machine {
    /// For what the kernel uses transparent huge pages.
    pub transparent: TransparentPages,
    /// Version of glibc, if it is the C library: 2.36 is `(2, 36)`.
    pub glibc: Option<(u32, u32)>,
    /// Huge pages of 2 MiB that can be allocated now.
    pub free_pages: usize,
    /// The preload library, or why there is none.
    pub library: Result<PathBuf, String>,
    /// The pool to use.
    pub pool: PoolPlace,
}

/// First glibc whose `malloc` uses huge pages on demand.
const GLIBC_WITH_TUNABLE: (u32, u32) = (2, 35);

impl Machine {
    /// Why a setting cannot be tried here, with the next step; `None` if it can.
    pub fn obstacle(&self, setting: Setting) -> Option<String> {
        let is_transparent = matches!(setting, Setting::Transparent | Setting::GlibcTransparent);
        let is_off = self.transparent == TransparentPages::Never;
        if is_transparent && is_off {
            let text = "transparent huge pages are off; as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
            return Some(text.to_owned());
        }
        let concerns = is_transparent || setting == Setting::Small;
        if concerns && self.transparent == TransparentPages::Missing {
            return Some("this kernel has no transparent huge pages".to_owned());
        }
        if setting.tunable().is_some() && self.glibc.is_none_or(|has| has < GLIBC_WITH_TUNABLE) {
            return Some("glibc.malloc.hugetlb needs glibc 2.35 or newer".to_owned());
        }
        if let (Some(_), Err(why)) = (setting.source(), &self.library) {
            return Some(why.clone());
        }
        let is_served = setting == Setting::Pool && self.pool != PoolPlace::Own;
        if setting.takes_stock() && !is_served && self.free_pages == 0 {
            let text = "no huge pages of 2 MiB are free; as root, --reserve adds them for the time of the comparison";
            return Some(text.to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests;
