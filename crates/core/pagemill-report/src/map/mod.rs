//! Page maps in a page: data, controls and the script that draws them, all in one file.

use base64::Engine as _;
use maud::{Markup, PreEscaped, html};

/// Style of the section.
pub(crate) const STYLE: &str = include_str!("map.css");
/// Reads and draws the maps.
pub(crate) const SCRIPT: &str = concat!(include_str!("decode.js"), include_str!("view.js"));

/// Maps of more bytes together are left out of a page, so that every browser opens it.
const BYTES_MAX: usize = 5_000_000;

/// Where the pages of one point were, when and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageMap {
    /// Which point it is of.
    pub title: String,
    /// The bytes of a page map, as the crate `pagemill-map` writes them. The page hands them on as they are.
    pub data: Vec<u8>,
}

/// The section of `maps`, of which that with the title `first` is seen first; nothing where there are none.
pub(crate) fn section(maps: &[PageMap], first: Option<&str>) -> Markup {
    let mut bytes = 0;
    let fits = |map: &&PageMap| {
        bytes += map.data.len().div_ceil(3) * 4;
        bytes <= BYTES_MAX
    };
    let shown: Vec<&PageMap> = maps.iter().take_while(fits).collect();
    let left_out = maps.len() - shown.len();
    html! {
        @if !maps.is_empty() {
            h2 id="pages" { "Where the pages were" }
            p {
                "Each row is a stretch of addresses, each column a stretch of time. Blue is what is there: data on the GPU or in frames, entries of a table in its cache. "
                "Orange is on its way there, violet on its way back, red moves to and fro, and green is there in another way, or used."
            }
            @if left_out > 0 {
                p.note { "The maps of " (left_out) " of " (maps.len()) " points are left out, which would make this page too large: run fewer points." }
            }
            @if !shown.is_empty() { (viewer(&shown, first)) }
        }
    }
}

/// The controls, the canvas and the table, with the data of `maps`.
pub(crate) fn viewer(maps: &[&PageMap], first: Option<&str>) -> Markup {
    html! {
        div.map {
            div.map-controls {
                @if maps.len() > 1 {
                    label { "Point " select.map-run { @for map in maps { option selected[first == Some(&map.title)] { (map.title) } } } }
                }
                label { "Allocation " select.map-band {} }
                label { "Cause " select.map-cause {} }
                label { "Page " input.map-find placeholder="number or address" autocomplete="off"; }
                button.map-in type="button" aria-label="Zoom in" { "+" }
                button.map-out type="button" aria-label="Zoom out" { "−" }
                button.map-all type="button" { "Whole run" }
            }
            ul.map-key {
                li { i.absent {} span.map-absent { "absent" } }
                li { i.partial {} span.map-partial { "partly there" } }
                li { i.present {} span.map-present { "there" } }
                li { i.departed {} span.map-departed { "gone" } }
                li { i.arrive {} "arriving" }
                li { i.leave {} "leaving" }
                li { i.repeat {} "to and fro" }
                li hidden { i.mark {} span.map-marked {} }
            }
            canvas tabindex="0" role="img" aria-label="Page map: addresses down, time across" {}
            p.map-says aria-live="polite" { "The map needs script." }
            p.note.map-hint hidden {
                "Wheel or pinch zooms, with Shift only addresses, with Alt only time; dragging moves. Keys: + and − zoom time, Shift with ↑ and ↓ zooms addresses, arrows move, "
                "Enter lists the history of the page in the middle, Home shows all. Dragging below the map selects a span of time; a click lists the history of a page."
            }
            div.scroll.map-box tabindex="0" role="region" aria-label="Table of the page map" { table.map-table {} }
            @for map in maps {
                script type="text/plain" {
                    (PreEscaped(base64::engine::general_purpose::STANDARD.encode(&map.data)))
                }
            }
        }
    }
}
