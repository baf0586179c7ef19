//! The file: a line that says what it is, then a compressed header in JSON, the tiles and the histories.
//!
//! All behind the first line is raw DEFLATE, which browsers unpack by themselves.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use crate::history::Event;
use crate::tiles::Tile;
use crate::varint::{Reader, put, put_signed};
use crate::{Band, Launch, Legend};

/// How a file begins.
pub const MAGIC: &[u8] = b"pagemill-map/1\n";

/// No map of ours unpacks to more.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

/// How hard DEFLATE tries: the default, 6, takes four times as long for a map that is 6 % smaller.
const LEVEL: Compression = Compression::new(4);

/// A finished map.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Which run it is of.
    pub title: String,
    /// What its states and causes are called.
    pub legend: Legend,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// End of the run in picoseconds.
    pub end_ps: u64,
    /// Width of a column of tiles in picoseconds.
    pub column_ps: u64,
    /// Columns of tiles.
    pub columns: usize,
    /// Rate of the link each way; 0 where there is none.
    pub link_bytes_per_second: u64,
    /// The allocations.
    pub bands: Vec<Band>,
    /// How many launches there were.
    pub launched: u32,
    /// The first of them.
    pub launches: Vec<Launch>,
    /// One page of two to the power of this has a history.
    pub sampled_bits: u32,
    /// From when on histories are not whole; none where they are.
    pub full_ps: Option<u64>,
    /// How many changes had which cause: all causes of the first column, then of the next.
    pub counts: Vec<u64>,
    /// Of each column, the bytes that the link carried in and out in its time; empty where only changes were recorded.
    pub carried: Vec<[u64; 2]>,
    /// The tiles, a row after the other.
    pub tiles: Vec<Tile>,
    /// Pages that have a history, in order, with their events.
    pub pages: Vec<(u64, Vec<Event>)>,
}

/// Why bytes are no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no page map: {0}")]
pub struct MapError(String);

#[derive(Serialize, Deserialize)]
struct Header {
    title: String,
    legend: Legend,
    page_bytes: u64,
    end_ps: u64,
    column_ps: u64,
    columns: usize,
    rows: usize,
    /// Of the planes, how many there are. The first maps had no marks.
    #[serde(default = "planes_at_first")]
    planes: usize,
    link_bytes_per_second: u64,
    /// Whether bytes in and out of each column follow the counts.
    #[serde(default)]
    carried: bool,
    bands: Vec<Band>,
    launched: u32,
    launches: Vec<Launch>,
    sampled_bits: u32,
    full_ps: Option<u64>,
    pages: usize,
}

type Field = fn(&mut Tile) -> &mut u64;

fn planes_at_first() -> usize {
    4
}

/// The planes in their order.
const FIELDS: [Field; 5] = [
    |tile| &mut tile.arrived,
    |tile| &mut tile.left,
    |tile| &mut tile.repeated,
    |tile| &mut tile.events,
    |tile| &mut tile.marked,
];

impl Map {
    /// The events of a page, if it has a history.
    pub fn history(&self, page: u64) -> Option<&[Event]> {
        let index = self.pages.binary_search_by_key(&page, |(page, _)| *page);
        index.ok().map(|index| self.pages[index].1.as_slice())
    }

    /// Whether nothing arrived, left, or changed its state.
    pub fn is_blank(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
            && self.tiles.iter().all(|tile| *tile == Tile::default())
    }

    /// The bytes of a file.
    pub fn encode(&self) -> Vec<u8> {
        let header = Header {
            title: self.title.clone(),
            legend: self.legend.clone(),
            page_bytes: self.page_bytes,
            end_ps: self.end_ps,
            column_ps: self.column_ps,
            columns: self.columns,
            rows: self.tiles.len().checked_div(self.columns).unwrap_or(0),
            planes: FIELDS.len(),
            link_bytes_per_second: self.link_bytes_per_second,
            carried: !self.carried.is_empty(),
            bands: self.bands.clone(),
            launched: self.launched,
            launches: self.launches.clone(),
            sampled_bits: self.sampled_bits,
            full_ps: self.full_ps,
            pages: self.pages.len(),
        };
        let header = serde_json::to_vec(&header).unwrap_or_default();
        let mut body = Vec::new();
        put(&mut body, header.len() as u64);
        body.extend(header);
        for field in FIELDS {
            put_plane(&mut body, &self.tiles, field);
        }
        for count in self.counts.iter().chain(self.carried.iter().flatten()) {
            put(&mut body, *count);
        }
        let mut before = 0;
        for (page, events) in &self.pages {
            put(&mut body, page - before);
            before = *page;
            put_events(&mut body, events);
        }
        let mut packed = DeflateEncoder::new(MAGIC.to_vec(), LEVEL);
        // A vector takes everything.
        let _ = packed.write_all(&body);
        packed.finish().unwrap_or_default()
    }

    /// Reads what [`Map::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are none of a map, or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, MapError> {
        let wrong = |reason: &str| MapError(reason.to_owned());
        let packed = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| wrong("it does not begin with \"pagemill-map/1\""))?;
        let body = unpack(packed).map_err(|error| MapError(error.to_string()))?;
        let mut reader = Reader(&body);
        let cut = || wrong("it ends too early");
        let length = reader.take().ok_or_else(cut)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (header, rest) = reader.0.split_at_checked(length).ok_or_else(cut)?;
        reader.0 = rest;
        let header: Header =
            serde_json::from_slice(header).map_err(|error| MapError(error.to_string()))?;
        let tiles = header.rows.saturating_mul(header.columns);
        if tiles > 1 << 24
            || header.columns > 1 << 24
            || header.legend.causes.len() > 256
            || header.pages > body.len()
            || header.planes > FIELDS.len()
        {
            return Err(wrong("its sizes are those of no map"));
        }
        let mut tiles = vec![Tile::default(); tiles];
        for field in FIELDS.into_iter().take(header.planes) {
            take_plane(&mut reader, &mut tiles, field).ok_or_else(cut)?;
        }
        let count = |_| reader.take().ok_or_else(cut);
        let counts = (0..header.columns * header.legend.causes.len()).map(count);
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        let mut carried = Vec::new();
        if header.carried {
            carried.resize(header.columns, [0; 2]);
        }
        for bytes in carried.iter_mut().flatten() {
            *bytes = reader.take().ok_or_else(cut)?;
        }
        let mut pages = Vec::new();
        let mut page = 0u64;
        for _ in 0..header.pages {
            let distance = reader.take().ok_or_else(cut)?;
            page = page
                .checked_add(distance)
                .ok_or_else(|| wrong("a page has no number"))?;
            pages.push((page, take_events(&mut reader).ok_or_else(cut)?));
        }
        if !reader.0.is_empty() {
            return Err(wrong("something follows its end"));
        }
        Ok(Self {
            title: header.title,
            legend: header.legend,
            page_bytes: header.page_bytes,
            end_ps: header.end_ps,
            column_ps: header.column_ps,
            columns: header.columns,
            link_bytes_per_second: header.link_bytes_per_second,
            bands: header.bands,
            launched: header.launched,
            launches: header.launches,
            sampled_bits: header.sampled_bits,
            full_ps: header.full_ps,
            counts,
            carried,
            tiles,
            pages,
        })
    }
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let limited = DeflateDecoder::new(packed).take(UNPACKED_BYTES_MAX);
    io::BufReader::new(limited).read_to_end(&mut body)?;
    Ok(body)
}

/// How many tiles have a value; then for each how many it is behind the one before, and the value.
fn put_plane(out: &mut Vec<u8>, tiles: &[Tile], field: Field) {
    let values = tiles.iter().map(|tile| *field(&mut tile.clone()));
    let values: Vec<(usize, u64)> = values.enumerate().filter(|(_, value)| *value > 0).collect();
    put(out, values.len() as u64);
    let mut next = 0;
    for (index, value) in values {
        put(out, (index - next) as u64);
        put(out, value);
        next = index + 1;
    }
}

fn take_plane(reader: &mut Reader<'_>, tiles: &mut [Tile], field: Field) -> Option<()> {
    let mut next = 0usize;
    for _ in 0..reader.take()? {
        let index = next.checked_add(usize::try_from(reader.take()?).ok()?)?;
        *field(tiles.get_mut(index)?) = reader.take()?;
        next = index + 1;
    }
    Some(())
}

fn put_events(out: &mut Vec<u8>, events: &[Event]) {
    put(out, events.len() as u64);
    let mut before = 0;
    for event in events {
        out.push(event.cause);
        put_signed(out, event.start_ps as i64 - before);
        before = event.start_ps as i64;
        put(out, event.done_ps.saturating_sub(event.start_ps));
        for number in [event.first, event.bytes, event.launch, event.place] {
            put(out, u64::from(number));
        }
    }
}

fn take_events(reader: &mut Reader<'_>) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    let mut before = 0i64;
    for _ in 0..reader.take()? {
        let (&cause, rest) = reader.0.split_first()?;
        reader.0 = rest;
        before = before.checked_add(reader.take_signed()?)?;
        let start_ps = u64::try_from(before).ok()?;
        let done_ps = start_ps.checked_add(reader.take()?)?;
        let mut number = || u32::try_from(reader.take()?).ok();
        events.push(Event {
            start_ps,
            done_ps,
            first: number()?,
            bytes: number()?,
            cause,
            launch: number()?,
            place: number()?,
        });
    }
    Some(events)
}
