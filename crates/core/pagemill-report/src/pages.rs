//! `pages.json`: the page maps of a run, and a page of their own that shows them.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, html};
use serde::{Deserialize, Serialize};

use crate::html::head;
use crate::map::{self, PageMap};
use crate::style::STYLE;

/// Name of the file among those of a run.
pub const FILE: &str = "pages.json";

/// What the file says it is.
const SCHEMA: &str = "pagemill-pages/1";

#[derive(Serialize, Deserialize)]
struct Pages {
    schema: String,
    maps: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    title: String,
    /// The bytes of the map in base64.
    data: String,
}

/// Writes `maps` as JSON.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(maps: &[PageMap], mut out: impl Write) -> io::Result<()> {
    let entry = |map: &PageMap| Entry {
        title: map.title.clone(),
        data: STANDARD.encode(&map.data),
    };
    let pages = Pages {
        schema: SCHEMA.to_owned(),
        maps: maps.iter().map(entry).collect(),
    };
    serde_json::to_writer(&mut out, &pages)?;
    out.flush()
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// The text is nothing of the kind, with what is wrong.
pub fn read(text: &str) -> Result<Vec<PageMap>, String> {
    let pages: Pages = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if pages.schema != SCHEMA {
        return Err(format!(
            "its schema is {:?}, and this version of pagemill reads {SCHEMA:?}",
            pages.schema
        ));
    }
    let map = |entry: Entry| {
        let data = STANDARD.decode(&entry.data);
        data.map(|data| PageMap {
            title: entry.title,
            data,
        })
    };
    let maps: Result<_, _> = pages.maps.into_iter().map(map).collect();
    maps.map_err(|error| error.to_string())
}

/// Writes a page that shows `maps` and nothing else.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_view(title: &str, maps: &[PageMap], mut out: impl Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head(title, &[STYLE, map::STYLE], &[map::SCRIPT])) }
            body {
                main.wide-page {
                    h1 { (title) }
                    (map::section(maps, None))
                }
                script { (maud::PreEscaped(map::SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())?;
    out.flush()
}

/// What another page needs to show page maps.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// The style of all pages, and that of maps.
    pub style: String,
    /// Draws maps in every element of the class `map`; its property `view` has `show`, which takes a map in base64.
    pub script: &'static str,
    /// An element that shows no map yet.
    pub markup: String,
}

/// The viewer of a report, without a map.
pub fn viewer() -> Viewer {
    Viewer {
        style: [STYLE, map::STYLE].concat(),
        script: map::SCRIPT,
        markup: map::viewer(&[], None).into_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let maps = vec![PageMap {
            title: "</script>".to_owned(),
            data: (0..=255).collect(),
        }];
        let mut bytes = Vec::new();
        write(&maps, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(read(&text), Ok(maps));
        assert!(read(&text.replace("pages/1", "pages/9")).is_err());
        assert!(read(&text.replace("\"data\":\"", "\"data\":\"!")).is_err());
    }
}
