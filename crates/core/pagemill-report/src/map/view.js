"use strict";
/* Draws page maps on canvases. No library: what is drawn are rectangles. */
const STRIPS = [
  { name: "resident", label: "resident" },
  { name: "link", label: "link use" },
  { name: "events", label: "events a second" },
];
const LAUNCH_HEIGHT = 20, STRIP_HEIGHT = 42, AXIS_HEIGHT = 22, MAP_HEIGHT = 400;

const bytesText = (bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 4) { bytes /= 1024; unit++; }
  return `${bytes < 10 && unit ? bytes.toFixed(2) : bytes < 100 && unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
};
const timeText = (ps) => {
  if (ps === 0) return "0";
  const units = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3], ["ps", 1]];
  const [unit, size] = units.find(([, size]) => Math.abs(ps) >= size) || ["ps", 1];
  return `${Number((ps / size).toPrecision(4))} ${unit}`;
};
const rateText = (number) => {
  const units = ["", " thousand", " million", " billion"];
  let unit = 0;
  while (number >= 1000 && unit < 3) { number /= 1000; unit++; }
  return `${Number(number.toPrecision(3))}${units[unit]}`;
};

const counted = (count, word, plural) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : plural}`;

function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key in made && key !== "list") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

class MapView {
  constructor(root) {
    this.root = root;
    this.maps = [...root.querySelectorAll("script[type='text/plain']")].map((script) => script.textContent);
    this.pick = root.querySelector(".map-run");
    this.canvas = root.querySelector("canvas");
    this.says = root.querySelector(".map-says");
    this.table = root.querySelector(".map-table");
    this.band = root.querySelector(".map-band");
    this.cause = root.querySelector(".map-cause");
    this.find = root.querySelector(".map-find");
    this.pointers = new Map();
    this.span = null;
    this.until = Infinity;
    this.listen();
    if (this.maps.length) this.load(this.pick ? this.pick.selectedIndex : 0);
  }

  /* Shows another map, in base64; answers when it can be seen. */
  show(text) {
    this.maps = [text];
    this.until = Infinity;
    return this.load(0);
  }

  async load(index) {
    this.root.setAttribute("aria-busy", "true");
    try {
      this.map = await unpackMap(this.maps[index]);
    } catch (error) {
      this.says.textContent = `The map cannot be shown: ${error.message}`;
      return;
    } finally {
      this.root.removeAttribute("aria-busy");
    }
    const { bands, legend } = this.map;
    this.band.replaceChildren(new Option("all", ""), ...bands.map((band, number) => new Option(`${band.name} (${bytesText(band.bytes)})`, number)));
    this.cause.replaceChildren(new Option("all", ""), ...legend.causes.map((cause, number) => new Option(cause.name, number)).filter((_, number) => bands.some((band) => band.counts[number] > 0)));
    this.root.querySelectorAll(".map-absent").forEach((item) => { item.textContent = legend.absent; });
    this.root.querySelectorAll(".map-partial").forEach((item) => { item.textContent = legend.partial; });
    this.root.querySelectorAll(".map-present").forEach((item) => { item.textContent = legend.present; });
    this.root.querySelectorAll(".map-departed").forEach((item) => { item.textContent = legend.departed; });
    this.root.querySelectorAll(".map-marked").forEach((item) => { item.textContent = legend.marked || ""; item.parentElement.hidden = !legend.marked; });
    this.span = null;
    this.whole();
    this.describe();
    this.root.dataset.ready = "yes";
  }

  describe() {
    const { map } = this;
    const sampled = map.sampled_bits ? `One page in ${2 ** map.sampled_bits} has its whole history; of the others there are counts.` : "Every page has its whole history.";
    const full = map.full_ps === null ? "" : ` Histories end at ${timeText(map.full_ps)}.`;
    this.says.textContent = `${map.launched ? `${counted(map.launched, "launch", "es")}, ` : ""}${bytesText(map.bands.reduce((sum, band) => sum + band.bytes, 0))} in ${counted(map.bands.length, "allocation", "s")}, ${timeText(map.end)}. ${sampled}${full}`;
    this.root.querySelector(".map-hint").hidden = false;
    this.showSpan();
  }

  whole() {
    const chosen = this.map.bands[this.band.value];
    this.view = { t0: 0, t1: this.map.end, v0: chosen ? chosen.offset : 0, v1: chosen ? chosen.offset + chosen.shown : this.map.height };
    this.draw();
  }

  layout() {
    const width = this.canvas.clientWidth || 320;
    const narrow = width < 560;
    const left = narrow ? 8 : 140;
    const height = LAUNCH_HEIGHT + (narrow ? 300 : MAP_HEIGHT) + STRIPS.length * STRIP_HEIGHT + AXIS_HEIGHT;
    return { width, height, left, narrow, right: 8, top: LAUNCH_HEIGHT, mapHeight: narrow ? 300 : MAP_HEIGHT, plot: width - left - 8 };
  }

  colors() {
    const style = getComputedStyle(this.root);
    const read = (name) => style.getPropertyValue(name).trim();
    /* A canvas reads a color in whatever form a style has it. */
    const pen = element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const rgb = (name) => {
      pen.fillStyle = read(name);
      pen.fillRect(0, 0, 1, 1);
      return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
    return {
      ink: read("--ink"), dim: read("--dim"), rule: read("--rule"), paper: read("--paper"), soft: read("--soft"), focus: read("--link"),
      absent: rgb("--map-absent"), partial: rgb("--map-partial"), present: rgb("--map-present"), departed: rgb("--map-departed"),
      arrive: rgb("--map-arrive"), leave: rgb("--map-leave"), repeat: rgb("--map-repeat"), mark: rgb("--map-mark"), none: rgb("--paper"),
    };
  }

  draw() {
    if (!this.map || this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      const began = performance.now();
      this.paint();
      this.root.dataset.drawMs = (performance.now() - began).toFixed(1);
    });
  }

  paint() {
    const at = this.place = this.layout();
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.style.height = `${at.height}px`;
    this.canvas.width = Math.round(at.width * ratio);
    this.canvas.height = Math.round(at.height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    const colors = this.colors();
    pen.fillStyle = colors.paper;
    pen.fillRect(0, 0, at.width, at.height);
    this.paintTiles(pen, at, colors, ratio);
    this.paintHistories(pen, at, colors);
    this.paintBands(pen, at, colors);
    this.paintLaunches(pen, at, colors);
    STRIPS.forEach((strip, number) => this.paintStrip(pen, at, colors, strip, at.top + at.mapHeight + number * STRIP_HEIGHT));
    this.paintFuture(pen, at, colors);
    this.paintAxis(pen, at, colors);
    this.paintSpan(pen, at, colors);
  }

  /* What is after `until` is not shown yet. */
  paintFuture(pen, at, colors) {
    const from = Math.max(this.xOf(this.until), at.left);
    if (from >= at.left + at.plot) return;
    pen.fillStyle = colors.paper;
    pen.fillRect(from, 0, at.width - from, at.height - AXIS_HEIGHT);
    pen.fillStyle = colors.focus;
    pen.fillRect(from, 0, 1, at.height - AXIS_HEIGHT);
  }

  xOf(t) { return this.place.left + (t - this.view.t0) / (this.view.t1 - this.view.t0) * this.place.plot; }
  yOf(v) { return this.place.top + (v - this.view.v0) / (this.view.v1 - this.view.v0) * this.place.mapHeight; }
  tOf(x) { return this.view.t0 + (x - this.place.left) / this.place.plot * (this.view.t1 - this.view.t0); }
  vOf(y) { return this.view.v0 + (y - this.place.top) / this.place.mapHeight * (this.view.v1 - this.view.v0); }

  bandAt(v) {
    return this.map.bands.find((band) => v >= band.offset && v < band.offset + band.shown);
  }

  /* Where a place of the axis is in an allocation. */
  spot(v) {
    const band = this.bandAt(v);
    if (!band) return null;
    const inside = Math.min((v - band.offset) / band.shown * band.bytes, band.bytes - 1);
    const address = band.address + Math.floor(Math.max(inside, 0));
    return { band, inside, address, page: Math.floor(address / this.map.page_bytes) };
  }

  /* The effect that is wished to be seen; none for all. */
  wanted() {
    return this.cause.value === "" ? null : { cause: Number(this.cause.value), effect: this.map.effects[this.cause.value] };
  }

  paintTiles(pen, at, colors, ratio) {
    const { map, view } = this;
    const width = Math.max(1, Math.round(at.plot * ratio)), height = Math.round(at.mapHeight * ratio);
    const image = pen.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    const mix = (a, b, part) => [0, 1, 2].map((index) => Math.round(a[index] + (b[index] - a[index]) * part));
    const ramp = Array.from({ length: 33 }, (_, step) => mix(colors.partial, colors.present, step / 32));
    const plain = { absent: pack(colors.absent), departed: pack(colors.departed), ramp: ramp.map(pack) };
    const tinted = {};
    for (const name of ["arrive", "leave", "repeat", "mark"]) {
      const tint = (color) => pack(mix(color, colors[name], 0.72));
      tinted[name] = { absent: tint(colors.absent), departed: tint(colors.departed), ramp: ramp.map(tint) };
    }
    const wanted = this.wanted();
    const seen = (effect) => wanted === null || wanted.effect === effect;
    const [arrives, leaves, repeats, marks] = ["arrive", "leave", "repeat", "mark"].map(seen);
    const columnOf = new Int32Array(width + 1);
    for (let x = 0; x <= width; x++) columnOf[x] = Math.floor((view.t0 + x / width * (view.t1 - view.t0)) / map.column_ps);
    const outside = pack(colors.none);
    for (let y = 0; y < height; y++) {
      const spot = this.spot(view.v0 + (y + 0.5) / height * (view.v1 - view.v0));
      const line = y * width;
      if (!spot) { pixels.fill(outside, line, line + width); continue; }
      const bytes = 2 ** spot.band.row_shift;
      const inBand = Math.min(Math.floor(spot.inside / bytes), spot.band.rows - 1);
      const capacity = Math.max(Math.min(bytes, spot.band.bytes - inBand * bytes), 1);
      const row = (spot.band.first_row + inBand) * map.columns;
      for (let x = 0; x < width; x++) {
        const first = columnOf[x], last = Math.min(Math.max(columnOf[x + 1], first + 1), map.columns);
        if (first < 0 || first >= map.columns || first * map.column_ps >= map.end) { pixels[line + x] = outside; continue; }
        let came = 0, went = 0, again = 0, marked = 0;
        for (let column = first; column < last; column++) {
          came += map.arrived[row + column];
          went += map.left[row + column];
          again += map.repeated[row + column];
          marked += map.marked[row + column];
        }
        const end = row + last - 1;
        const share = map.resident[end] / capacity;
        const effect = again > 0 && (repeats || arrives) || (came > 0 && went > 0 && arrives && leaves) ? "repeat" : came > 0 && arrives ? "arrive" : went > 0 && leaves ? "leave" : marked > 0 && marks ? "mark" : null;
        const palette = effect ? tinted[effect] : plain;
        pixels[line + x] = share > 0.001 ? palette.ramp[Math.min(32, Math.round(share * 32))] : map.departed[end] ? palette.departed : palette.absent;
      }
    }
    const canvas = element("canvas", { width, height });
    canvas.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, at.left, at.top, at.plot, at.mapHeight);
  }

  /* How high a page is drawn in `band`. */
  pageHeight(band) {
    return this.map.page_bytes / band.bytes * band.shown / (this.view.v1 - this.view.v0) * this.place.mapHeight;
  }

  /* Pages that are high enough are drawn as they were, byte for byte. */
  paintHistories(pen, at, colors) {
    const { map, view } = this;
    const css = (color) => `rgb(${color.join(" ")})`;
    const wanted = this.wanted();
    pen.save();
    pen.beginPath();
    pen.rect(at.left, at.top, at.plot, at.mapHeight);
    pen.clip();
    for (const band of map.bands) {
      const high = this.pageHeight(band);
      if (high < 3 || band.offset > view.v1 || band.offset + band.shown < view.v0) continue;
      const scale = band.shown / band.bytes;
      const firstPage = Math.floor((band.address + Math.max(view.v0 - band.offset, 0) / scale) / map.page_bytes);
      const lastPage = Math.floor((band.address + Math.min((view.v1 - band.offset) / scale, band.bytes - 1)) / map.page_bytes);
      for (let page = firstPage; page <= lastPage; page++) {
        const own = stretches(map, page);
        const base = page * map.page_bytes - band.address;
        const top = this.yOf(band.offset + Math.max(base, 0) * scale);
        const bottom = this.yOf(band.offset + Math.min(base + map.page_bytes, band.bytes) * scale);
        if (!own) continue;
        pen.fillStyle = css(colors.absent);
        pen.fillRect(at.left, top, at.plot, bottom - top);
        let departed = Infinity;
        for (const item of own) if (item.leaving) departed = Math.min(departed, item.leaving.done);
        if (departed < view.t1) {
          pen.fillStyle = css(colors.departed);
          const from = Math.max(this.xOf(departed), at.left);
          pen.fillRect(from, top, at.left + at.plot - from, bottom - top);
        }
        for (const item of own) {
          if (item.until < view.t0 || item.start > view.t1) continue;
          const y = this.yOf(band.offset + (base + item.first) * scale);
          const tall = Math.max(item.bytes * scale / (view.v1 - view.v0) * at.mapHeight, 1);
          const [from, there, until] = [item.start, item.done, Math.max(item.until, item.done)].map((t) => Math.min(Math.max(this.xOf(t), at.left - 1), at.left + at.plot + 1));
          const dimmed = wanted !== null && wanted.cause !== item.cause && !(item.leaving && wanted.cause === item.leaving.cause);
          pen.globalAlpha = dimmed ? 0.25 : 1;
          if (item.mark) {
            pen.fillStyle = css(colors.mark);
            pen.fillRect(from, y + tall * 0.3, Math.max(until - from, 1.2), Math.max(tall * 0.4, 1));
            pen.globalAlpha = 1;
            continue;
          }
          if (!item.repeated) {
            pen.fillStyle = css(colors.present);
            pen.fillRect(there, y, Math.max(until - there, 0.6), tall);
          }
          pen.fillStyle = css(item.repeated || item.again ? colors.repeat : colors.arrive);
          pen.fillRect(from, y, Math.max(there - from, 1.2), tall);
          if (item.leaving) {
            pen.fillStyle = css(colors.leave);
            const gone = Math.min(this.xOf(item.leaving.done), at.left + at.plot + 1);
            pen.fillRect(until, y, Math.max(gone - until, 1.2), tall);
          }
          pen.globalAlpha = 1;
        }
        if (high >= 14) {
          pen.fillStyle = colors.paper;
          pen.fillRect(at.left, bottom - 1, at.plot, 1);
        }
      }
    }
    pen.restore();
  }

  paintBands(pen, at, colors) {
    pen.textBaseline = "middle";
    for (const band of this.map.bands) {
      const top = Math.max(this.yOf(band.offset), at.top), bottom = Math.min(this.yOf(band.offset + band.shown), at.top + at.mapHeight);
      if (bottom <= top) continue;
      pen.fillStyle = colors.paper;
      pen.fillRect(at.left, bottom - 1, at.plot, 2);
      if (bottom - top < 12) continue;
      const text = this.fit(pen, band.name, at.narrow ? at.plot - 12 : at.left - 12);
      const y = at.narrow ? top + 9 : (top + bottom) / 2;
      pen.textAlign = at.narrow ? "left" : "right";
      if (at.narrow) {
        pen.fillStyle = colors.paper;
        pen.globalAlpha = 0.8;
        pen.fillRect(at.left + 2, y - 8, pen.measureText(text).width + 6, 16);
        pen.globalAlpha = 1;
      }
      pen.fillStyle = colors.ink;
      pen.fillText(text, at.narrow ? at.left + 5 : at.left - 8, bottom - top > 30 && !at.narrow ? y - 7 : y);
      if (bottom - top > 30 && !at.narrow) {
        pen.fillStyle = colors.dim;
        pen.fillText(bytesText(band.bytes), at.left - 8, y + 8);
      }
    }
  }

  fit(pen, text, width) {
    if (pen.measureText(text).width <= width) return text;
    while (text.length > 1 && pen.measureText(`${text}…`).width > width) text = text.slice(0, -1);
    return `${text}…`;
  }

  paintLaunches(pen, at, colors) {
    const { map, view } = this;
    const names = [...new Set(map.launches.map((launch) => launch.name))];
    pen.textAlign = "left";
    let lastEnd = -1;
    for (const launch of map.launches) {
      if (launch.end_ps < view.t0 || launch.start_ps > view.t1) continue;
      const from = Math.max(this.xOf(launch.start_ps), at.left), to = Math.min(this.xOf(launch.end_ps), at.left + at.plot);
      if (to - lastEnd < 0.4) continue;
      lastEnd = to;
      pen.fillStyle = names.indexOf(launch.name) % 2 ? colors.rule : colors.soft;
      pen.fillRect(from, 2, Math.max(to - from, 1), LAUNCH_HEIGHT - 5);
      pen.fillStyle = colors.dim;
      pen.fillRect(from, 2, 1, LAUNCH_HEIGHT - 5);
      if (to - from > 34) {
        pen.fillStyle = colors.ink;
        pen.fillText(this.fit(pen, launch.name, to - from - 8), from + 4, LAUNCH_HEIGHT / 2);
      }
    }
    if (!at.narrow && map.launched) {
      pen.fillStyle = colors.dim;
      pen.textAlign = "right";
      pen.fillText("kernels", at.left - 8, LAUNCH_HEIGHT / 2);
    }
  }

  /* Values of a strip between two columns, and what its full height is. */
  sample(name, from, to) {
    const { totals, column_ps, link_bytes_per_second } = this.map;
    const seconds = (to - from) * column_ps * 1e-12;
    const sum = (values) => { let all = 0; for (let column = from; column < to; column++) all += values[column]; return all; };
    if (name === "resident") return [totals.resident[to - 1]];
    if (name === "events") return [sum(totals.events) / seconds];
    const rate = link_bytes_per_second || 1;
    return [sum(totals.incoming) / seconds / rate, sum(totals.outgoing) / seconds / rate];
  }

  paintStrip(pen, at, colors, strip, top) {
    const { map, view } = this;
    const css = (color) => `rgb(${color.join(" ")})`;
    const mirrored = strip.name === "link";
    const foot = mirrored ? top + STRIP_HEIGHT / 2 + (at.narrow ? 7 : 3) : top + STRIP_HEIGHT - 4, room = (STRIP_HEIGHT - (at.narrow ? 22 : 12)) / (mirrored ? 2 : 1);
    const points = [];
    let most = strip.name === "link" && map.link_bytes_per_second ? 1 : 0;
    for (let x = 0; x < at.plot; x++) {
      const from = Math.floor(this.tOf(at.left + x) / map.column_ps);
      const to = Math.max(Math.ceil(this.tOf(at.left + x + 1) / map.column_ps), from + 1);
      if (from < 0 || to > map.columns) continue;
      const values = this.sample(strip.name, from, to);
      points.push([at.left + x, values]);
      most = Math.max(most, ...values);
    }
    pen.fillStyle = colors.rule;
    pen.fillRect(at.left, foot, at.plot, 1);
    const series = mirrored ? [css(colors.arrive), css(colors.leave)] : strip.name === "resident" ? [css(colors.present)] : [colors.dim];
    series.forEach((color, number) => {
      pen.fillStyle = color;
      for (const [x, values] of points) {
        const high = most > 0 ? values[number] / most * room : 0;
        if (high > 0) pen.fillRect(x, number ? foot + 1 : foot - high, 1, high);
      }
    });
    const top_text = strip.name === "resident" ? bytesText(most) : strip.name === "link" ? map.link_bytes_per_second ? `${Math.round(most * 100)} %` : `${bytesText(most)}/s` : rateText(most);
    pen.textAlign = at.narrow ? "left" : "right";
    pen.fillStyle = colors.ink;
    const label = mirrored ? map.link_bytes_per_second ? "link in / out" : "moved in / out" : strip.label;
    if (at.narrow) {
      pen.fillText(`${label}, up to ${top_text}`, at.left + 4, top + 6);
    } else {
      pen.fillText(label, at.left - 8, top + 16);
      pen.fillStyle = colors.dim;
      pen.fillText(`up to ${top_text}`, at.left - 8, top + 31);
    }
  }

  paintAxis(pen, at, colors) {
    const { view } = this;
    const steps = at.narrow ? 3 : 8;
    const rough = (view.t1 - view.t0) / steps;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const y = at.height - AXIS_HEIGHT / 2;
    pen.fillStyle = colors.dim;
    for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
      const x = this.xOf(t), text = timeText(t), half = pen.measureText(text).width / 2;
      pen.fillRect(x, at.height - AXIS_HEIGHT, 1, 4);
      pen.textAlign = "center";
      pen.fillText(text, Math.min(Math.max(x, half + 2), at.width - half - 2), y + 2);
    }
  }

  paintSpan(pen, at, colors) {
    if (!this.span) return;
    const [from, to] = this.span.map((t) => Math.min(Math.max(this.xOf(t), at.left), at.left + at.plot));
    pen.fillStyle = colors.focus;
    pen.globalAlpha = 0.14;
    pen.fillRect(from, 0, to - from, at.height - AXIS_HEIGHT);
    pen.globalAlpha = 1;
    pen.fillRect(from, 0, 1, at.height - AXIS_HEIGHT);
    pen.fillRect(to, 0, 1, at.height - AXIS_HEIGHT);
  }

  /* Zooms by factors around a place; the smallest views are a nanosecond and 64 bytes. */
  zoom(time, address, x, y) {
    const { view, map } = this;
    const around = (low, high, share, factor, least, end) => {
      const middle = low + (high - low) * share;
      const size = Math.min(Math.max((high - low) * factor, least), end);
      const start = Math.min(Math.max(middle - size * share, 0), end - size);
      return [start, start + size];
    };
    const shareX = (x - this.place.left) / this.place.plot, shareY = (y - this.place.top) / this.place.mapHeight;
    [view.t0, view.t1] = around(view.t0, view.t1, Math.min(Math.max(shareX, 0), 1), time, Math.min(1000, map.end), map.end);
    [view.v0, view.v1] = around(view.v0, view.v1, Math.min(Math.max(shareY, 0), 1), address, Math.min(64, map.height), map.height);
    this.draw();
  }

  pan(x, y) {
    const { view, map } = this;
    const moved = (low, high, by, end) => {
      const start = Math.min(Math.max(low + by, 0), end - (high - low));
      return [start, start + high - low];
    };
    [view.t0, view.t1] = moved(view.t0, view.t1, x / this.place.plot * (view.t1 - view.t0), map.end);
    [view.v0, view.v1] = moved(view.v0, view.v1, y / this.place.mapHeight * (view.v1 - view.v0), map.height);
    this.draw();
  }

  launchName(number) {
    if (!this.map.launched) return "";
    if (!number) return "between kernels";
    const launch = this.map.launches[number - 1];
    return launch ? `${launch.name} (launch ${number})` : `launch ${number}`;
  }

  byLaunch(number) { return this.map.launched ? ` by ${this.launchName(number)}` : ""; }

  /* What is known of a place and a time, in words. */
  words(x, y) {
    const { map } = this;
    const t = this.tOf(x), spot = this.spot(this.vOf(y));
    if (!spot || t < 0 || t > map.end) return "";
    const name = this.pageName(spot.page);
    const where = `${name.charAt(0).toUpperCase()}${name.slice(1)} (${bytesText(Math.floor(spot.inside))} in), ${timeText(t)}: `;
    const own = stretches(map, spot.page);
    const offset = spot.address % map.page_bytes;
    if (own) {
      const marks = own.filter((item) => item.mark && item.state && item.start <= t && t <= item.until && item.first <= offset && offset < item.first + item.bytes);
      const marked = marks.map((item) => ` It is ${item.state} since ${timeText(item.start)} (${map.legend.causes[item.cause].name}).`).join("");
      const there = own.filter((item) => !item.repeated && !item.mark && item.start <= t && t <= (item.leaving ? item.leaving.done : item.until));
      const here = there.find((item) => item.first <= offset && offset < item.first + item.bytes) || there[0];
      const coming = here && t < here.done, going = here && here.leaving && t > here.until;
      if (!here) return `${where}${own.some((item) => item.leaving && item.leaving.done < t) ? map.legend.departed : map.legend.absent}.${marked}`;
      const cause = map.legend.causes[here.cause].name;
      const placed = map.legend.place && here.launch ? `, ${map.legend.place} ${here.place}` : "";
      const ranges = there.length === 1 ? "1 range" : `${there.length} ranges`;
      const state = coming ? "in flight" : going ? "leaving" : ranges;
      const ended = here.leaving ? `; ${map.legend.causes[here.leaving.cause].name}${this.byLaunch(here.leaving.launch)} ${timeText(here.leaving.start - here.done)} after it came` : "; stays to the end";
      return `${where}${cause}${this.byLaunch(here.launch)}${placed}; ${state}; ${bytesText(here.bytes)} from ${timeText(here.start)} on${ended}.${marked}`;
    }
    const column = Math.min(Math.floor(t / map.column_ps), map.columns - 1);
    const row = spot.band.first_row + Math.min(Math.floor(spot.inside / 2 ** spot.band.row_shift), spot.band.rows - 1);
    const index = row * map.columns + column;
    return `${where}${bytesText(map.resident[index])} of ${bytesText(2 ** spot.band.row_shift)} resident; in this tile of ${timeText(map.column_ps)} ${bytesText(map.arrived[index])} arrived, ${bytesText(map.left[index])} left, ${map.events[index]} events. This page has no history of its own.`;
  }

  /* The table of the chosen span, or of the whole run. */
  showSpan() {
    const { map } = this;
    const [from, to] = this.span || [0, map.end];
    const first = Math.max(Math.floor(from / map.column_ps), 0), last = Math.min(Math.max(Math.ceil(to / map.column_ps), first + 1), map.columns);
    const causes = map.legend.causes.map((_, number) => number).filter((number) => map.bands.some((band) => band.counts[number] > 0));
    const rows = map.bands.map((band) => {
      const sums = { arrived: 0, left: 0, repeated: 0, events: 0 };
      let resident = 0;
      for (let row = band.first_row; row < band.first_row + band.rows; row++) {
        for (let column = first; column < last; column++) {
          for (const name of Object.keys(sums)) sums[name] += map[name][row * map.columns + column];
        }
        resident += map.resident[row * map.columns + last - 1];
      }
      const counts = causes.map((cause) => band.counts[cause].toLocaleString("en"));
      const share = `${Number((100 * sums.arrived / (Math.ceil(band.bytes / map.page_bytes) * map.page_bytes)).toPrecision(3)).toLocaleString("en")} %`;
      return [band.name, bytesText(band.bytes), bytesText(sums.arrived), share, bytesText(sums.left), bytesText(sums.repeated), ...(this.span ? [sums.events.toLocaleString("en")] : counts), bytesText(resident)];
    });
    const kernels = map.launches.filter((launch) => launch.end_ps >= from && launch.start_ps <= to).length;
    const launches = map.launched ? `, ${counted(kernels, "launch", "es")}` : "";
    const caption = `${this.span ? "Selected" : "Whole run"}: ${timeText(from)} to ${timeText(to)}${launches}`;
    this.fill(caption, ["*Allocation", "Size", "Arrived", "of its pages", "Left", "Moved again", ...(this.span ? ["Changes"] : causes.map((cause) => map.legend.causes[cause].name)), "At the end"], rows);
  }

  /* A page as people number it: within its allocation. */
  pageName(page) {
    const address = page * this.map.page_bytes;
    const band = this.map.bands.find((one) => address + this.map.page_bytes > one.address && address < one.address + one.bytes);
    return band ? `page ${page - Math.floor(band.address / this.map.page_bytes)} of ${band.name}` : `page ${page}`;
  }

  showPage(page) {
    const { map } = this;
    const events = map.histories.get(page) || [];
    const rows = events.slice(0, 400).map((event) => [
      timeText(event.start), timeText(event.done - event.start), map.legend.causes[event.cause].name, this.launchName(event.launch),
      map.effects[event.cause] === "leave" || !event.launch ? "" : event.place, `${bytesText(event.first)} + ${bytesText(event.bytes)}`,
    ]);
    const more = events.length > 400 ? `, of which the first 400 are shown` : "";
    this.fill(`History of ${this.pageName(page)}: ${events.length} events${more}`, ["Start", "Took", "*Cause", "*Kernel", map.legend.place || "Place", "*Bytes of the page"], rows);
  }

  /* Headings that begin with a star are those of words; the others are those of numbers. */
  fill(caption, heads, rows) {
    const side = heads.map((text) => text.startsWith("*") ? "" : "n");
    const head = element("tr", {}, ...heads.map((text, index) => element("th", { scope: "col", className: side[index] }, text.replace("*", ""))));
    const body = rows.map((row) => element("tr", {}, ...row.map((text, index) => element("td", { className: side[index] }, String(text)))));
    this.table.replaceChildren(element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  }

  goTo(page) {
    const { map } = this;
    const address = page * map.page_bytes;
    const band = map.bands.find((one) => address + map.page_bytes > one.address && address < one.address + one.bytes);
    if (!band) { this.says.textContent = `No allocation holds page ${page}.`; return; }
    const scale = band.shown / band.bytes, size = Math.min(map.page_bytes * scale * 1.25, map.height);
    const start = Math.min(Math.max(band.offset + (address - band.address) * scale - size * 0.1, 0), map.height - size);
    Object.assign(this.view, { v0: start, v1: start + size });
    this.showPage(page);
    const name = this.pageName(page);
    this.says.textContent = map.histories.has(page) ? `Showing ${name}.` : map.sampled_bits ? `The ${name} has no history of its own: one page in ${2 ** map.sampled_bits} has.` : `The ${name} never moved.`;
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const below = (y) => y > this.place.top + this.place.mapHeight;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200)));
      const [x, y] = at(event);
      this.zoom(event.shiftKey ? 1 : factor, event.shiftKey || !event.altKey ? factor : 1, x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const [x, y] = at(event);
      this.pointers.set(event.pointerId, { x, y, fromX: x, fromY: y, brush: below(y) });
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event), held = this.pointers.get(event.pointerId);
      if (!this.map) return;
      if (!held) { this.says.textContent = this.words(x, y) || this.says.textContent; return; }
      if (this.pointers.size === 2) this.pinch(event.pointerId, x, y);
      else if (held.brush) {
        this.span = [this.tOf(held.fromX), this.tOf(x)].sort((a, b) => a - b).map((t) => Math.min(Math.max(t, 0), this.map.end));
        this.draw();
      } else this.pan(held.x - x, held.y - y);
      Object.assign(held, { x, y });
    });
    const ended = (event) => {
      const held = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (!held || !this.map) return;
      if (held.brush) this.showSpan();
      else if (Math.hypot(held.x - held.fromX, held.y - held.fromY) < 4) this.chosen(held.x, held.y);
    };
    canvas.addEventListener("pointerup", ended);
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, 0.4, ...at(event)));
    if (this.pick) this.pick.addEventListener("change", () => this.load(this.pick.selectedIndex));
    this.band.addEventListener("change", () => this.whole());
    this.cause.addEventListener("change", () => this.draw());
    this.find.addEventListener("change", () => {
      const number = Number(this.find.value), bytes = this.map.page_bytes;
      const band = this.map.bands[this.band.value] || this.map.bands[0];
      if (this.find.value === "" || !band || !(number >= 0)) return;
      this.goTo(Math.floor(number >= band.address ? number / bytes : band.address / bytes + number));
    });
    const button = (name, act) => this.root.querySelector(name).addEventListener("click", act);
    const middle = () => [this.place.left + this.place.plot / 2, this.place.top + this.place.mapHeight / 2];
    button(".map-in", () => this.zoom(0.5, 0.5, ...middle()));
    button(".map-out", () => this.zoom(2, 2, ...middle()));
    button(".map-all", () => { this.band.value = ""; this.span = null; this.whole(); this.describe(); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  chosen(x, y) {
    this.says.textContent = this.words(x, y);
    const spot = this.spot(this.vOf(y));
    if (spot && y <= this.place.top + this.place.mapHeight) this.showPage(spot.page);
  }

  pinch(moving, x, y) {
    const [[, other]] = [...this.pointers].filter(([id]) => id !== moving);
    const held = this.pointers.get(moving);
    const before = Math.hypot(held.x - other.x, held.y - other.y), now = Math.hypot(x - other.x, y - other.y);
    if (before > 0 && now > 0) this.zoom(before / now, before / now, other.x, other.y);
  }

  key(event) {
    const { plot, mapHeight, left, top } = this.place;
    const middle = [left + plot / 2, top + mapHeight / 2];
    const acts = {
      ArrowLeft: () => this.pan(-plot / 8, 0), ArrowRight: () => this.pan(plot / 8, 0),
      ArrowUp: () => event.shiftKey ? this.zoom(1, 0.7, ...middle) : this.pan(0, -mapHeight / 8),
      ArrowDown: () => event.shiftKey ? this.zoom(1, 1 / 0.7, ...middle) : this.pan(0, mapHeight / 8),
      "+": () => this.zoom(0.7, 1, ...middle), "=": () => this.zoom(0.7, 1, ...middle), "-": () => this.zoom(1 / 0.7, 1, ...middle),
      Home: () => this.whole(), Enter: () => this.chosen(...middle),
    };
    if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
      if (event.key !== "Enter") this.says.textContent = `${timeText(this.view.t0)} to ${timeText(this.view.t1)}. In the middle: ${this.words(...middle)}`;
    }
  }
}

for (const root of document.querySelectorAll(".map")) root.view = new MapView(root);
