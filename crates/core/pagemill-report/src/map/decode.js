"use strict";
/* Reads a page map: the format is that of the crate pagemill-map. */
const MAP_MAGIC = "pagemill-map/1\n";

async function unpackMap(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  for (let index = 0; index < MAP_MAGIC.length; index++) {
    if (packed[index] !== MAP_MAGIC.charCodeAt(index)) throw new Error("this is no page map");
  }
  const body = new Blob([packed.subarray(MAP_MAGIC.length)]).stream();
  const plain = body.pipeThrough(new DecompressionStream("deflate-raw"));
  return decodeMap(new Uint8Array(await new Response(plain).arrayBuffer()));
}

/* Numbers of up to 2^53 are exact: 2.5 hours in picoseconds. */
function decodeMap(bytes) {
  let at = 0;
  const number = () => {
    let value = 0, scale = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  const signed = () => {
    const value = number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  const length = number();
  const map = JSON.parse(new TextDecoder().decode(bytes.subarray(at, at + length)));
  at += length;
  const plane = () => {
    const values = new Float64Array(map.rows * map.columns);
    let next = 0;
    for (let count = number(); count > 0; count--) {
      next += number();
      values[next++] = number();
    }
    return values;
  };
  map.arrived = plane();
  map.left = plane();
  map.repeated = plane();
  map.events = plane();
  map.marked = (map.planes || 4) > 4 ? plane() : new Float64Array(map.rows * map.columns);
  const causes = map.legend.causes.length;
  map.counts = Float64Array.from({ length: map.columns * causes }, number);
  map.bytesCarried = map.carried ? Float64Array.from({ length: map.columns * 2 }, number) : null;
  map.histories = new Map();
  let page = 0;
  for (let pages = map.pages; pages > 0; pages--) {
    page += number();
    map.histories.set(page, history(number, signed, () => bytes[at++]));
  }
  return prepare(map);
}

function history(number, signed, byte) {
  const events = [];
  let before = 0;
  for (let count = number(); count > 0; count--) {
    const cause = byte();
    before += signed();
    const start = before, done = before + number();
    events.push({ cause, start, done, first: number(), bytes: number(), launch: number(), place: number() });
  }
  return events;
}

/* What the view needs again and again. */
function prepare(map) {
  const { rows, columns } = map;
  map.effects = map.legend.causes.map((cause) => cause.effect);
  map.resident = new Float64Array(rows * columns);
  map.departed = new Uint8Array(rows * columns);
  map.totals = { arrived: new Float64Array(columns), left: new Float64Array(columns), repeated: new Float64Array(columns), events: new Float64Array(columns), resident: new Float64Array(columns) };
  for (let row = 0; row < rows; row++) {
    let there = 0, gone = 0;
    for (let column = 0; column < columns; column++) {
      const index = row * columns + column;
      there += map.arrived[index] - map.left[index];
      if (map.left[index] > 0) gone = 1;
      map.resident[index] = Math.max(there, 0);
      map.departed[index] = gone;
      for (const name of ["arrived", "left", "repeated", "events"]) map.totals[name][column] += map[name][index];
      map.totals.resident[column] += map.resident[index];
    }
  }
  spreadOverTheLink(map);
  const total = map.bands.reduce((sum, band) => sum + band.bytes, 0) || 1;
  let offset = 0;
  for (const band of map.bands) {
    band.shown = Math.max(band.bytes, total * 0.03);
    band.offset = offset;
    offset += band.shown;
  }
  map.height = offset || 1;
  map.end = Math.max(map.end_ps, 1);
  return map;
}

/* Bytes were counted when the last arrived or the first left: the others were on the link before or after, at its rate.
   Measured runs say when the link carried them. */
function spreadOverTheLink(map) {
  if (map.bytesCarried) {
    map.totals.incoming = map.bytesCarried.filter((_, index) => index % 2 === 0);
    map.totals.outgoing = map.bytesCarried.filter((_, index) => index % 2 === 1);
    return;
  }
  const room = map.link_bytes_per_second * map.column_ps * 1e-12;
  const incoming = map.totals.arrived.map((bytes, column) => bytes + map.totals.repeated[column]);
  const outgoing = map.totals.left.slice();
  if (room > 0) {
    let carried = 0;
    for (let column = map.columns - 1; column >= 0; column--) {
      carried += incoming[column];
      incoming[column] = Math.min(carried, room);
      carried -= incoming[column];
    }
    carried = 0;
    for (let column = 0; column < map.columns; column++) {
      carried += outgoing[column];
      outgoing[column] = Math.min(carried, room);
      carried -= outgoing[column];
    }
  }
  map.totals.incoming = incoming;
  map.totals.outgoing = outgoing;
}

/* Whether some of what arrives in the tile of an event had been there before. */
function comesAgain(map, page, event) {
  const address = page * map.page_bytes + event.first;
  const band = map.bands.find((item) => item.address <= address && address < item.address + item.bytes);
  if (!band) return false;
  const row = band.first_row + Math.min(Math.floor((address - band.address) / 2 ** band.row_shift), band.rows - 1);
  return map.repeated[row * map.columns + Math.floor(event.done / map.column_ps)] > 0;
}

/* The stretches of a page's bytes: from when they are on the way, from when they are there, until when. */
function stretches(map, page) {
  const events = map.histories.get(page);
  if (!events) return null;
  if (!map.stretchCache) map.stretchCache = new Map();
  let made = map.stretchCache.get(page);
  if (made) return made;
  made = [];
  let open = [];
  let marks = [];
  for (const event of events) {
    const effect = map.effects[event.cause];
    const overlaps = (item) => item.first < event.first + event.bytes && event.first < item.first + item.bytes;
    if (effect !== "repeat" && !(effect === "mark" && !map.legend.causes[event.cause].state)) {
      marks = marks.filter((item) => {
        if (overlaps(item)) item.until = Math.min(item.until, Math.max(event.start, item.start));
        return !overlaps(item);
      });
    }
    if (effect === "mark") {
      const state = map.legend.causes[event.cause].state;
      const mark = { ...event, until: state ? map.end : event.done, leaving: null, state, mark: true };
      if (state) marks.push(mark);
      made.push(mark);
      continue;
    }
    const stretch = { ...event, until: map.end, leaving: null };
    if (effect === "leave") {
      const stays = [];
      for (const item of open) {
        if (overlaps(item)) {
          item.until = event.start;
          item.leaving = event;
        } else stays.push(item);
      }
      open = stays;
    } else if (effect === "arrive") {
      stretch.again = made.some((item) => item.leaving && overlaps(item)) && comesAgain(map, page, event);
      open.push(stretch);
      made.push(stretch);
    } else made.push({ ...stretch, until: event.done, repeated: true });
  }
  map.stretchCache.set(page, made);
  return made;
}
