//! Which part of a shared cache a task may occupy, by the colors of the pages it is given.
//!
//! Pages whose frames select the same sets of a physically indexed cache have the same *color*. Tasks on disjoint
//! colors cannot evict each other's lines (Zhang et al., CachePM, sections 2 and 3).
//!
//! ```text
//! CacheGeometry + page size -> Palette            how many colors there are, and which a frame has
//! MissCurve of each task    -> quota::QuotaPolicy  how many colors each task gets
//! quotas + former ranges    -> arrange             which: disjoint and contiguous, the fewest pages moved
//! wishes of running tasks   -> assign              both, for numbers that are asked for and curves
//! ColorRange                -> Dealer              the color of the next page
//! colors of all pages      -> plan_recolor        the new map with the fewest pages moved
//! planned moves             -> LazyPages           copied at the next touch, flushed once
//! misses, cost of a change  -> DueChange           when the change pays
//! ```

mod arrange;
mod assign;
mod color;
mod curve;
mod dealer;
mod due;
mod lazy;
mod palette;
pub mod quota;
mod recolor;
mod sensitivity;
mod way_palette;

pub use arrange::{ArrangeError, arrange, arrange_pages};
pub use assign::{AssignError, Claim, Wish, assign};
pub use color::{Color, ColorRange};
pub use curve::{MissCurve, MissCurveError};
pub use dealer::Dealer;
pub use due::DueChange;
pub use lazy::{Flush, LazyPages, Touch};
pub use palette::{CacheGeometry, Palette, PaletteError};
pub use recolor::{RecolorPlan, plan_recolor};
pub use sensitivity::{Sensitivity, SensitivityRule};
pub use way_palette::{WayPalette, WayPaletteError};
