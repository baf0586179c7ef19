const runs = JSON.parse(document.getElementById("data").textContent);
const [first, second, metric, filter, table, summary] =
  ["first", "second", "metric", "filter", "rows", "summary"].map((id) => document.getElementById(id));
const ROWS_MAX = 2000;
let sorted = { column: -1, sign: 1 };

const shown = (value) =>
  value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);

const UNITS = [
  [/_ns$/, 1000, ["ns", "µs", "ms", "s"]],
  [/bytes$/, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]],
];
/* As people read the numbers of a column; the title of a cell has every digit. */
const human = (value, name) => {
  const [, step, units] = UNITS.find(([end]) => end.test(name)) || [];
  if (typeof value !== "number" || !units) return shown(value);
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) [value, unit] = [value / step, unit + 1];
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
};

const place = (run, name) => run.columns.findIndex((column) => column.name === name);

const tests = (text, run) =>
  text.trim().split(/\s+/).filter(Boolean).map((word) => {
    const [, name, sign, wanted] = word.match(/^([^=<>]+)([=<>])(.+)$/) || [];
    const at = name === undefined ? -1 : place(run, name);
    if (at < 0) return (row) => row.some((value) => shown(value).includes(word));
    if (sign === "=") return (row) => shown(row[at]) === wanted || String(row[at]) === wanted;
    const limit = Number(wanted);
    return (row) => row[at] !== null && (sign === "<" ? row[at] < limit : row[at] > limit);
  });

const key = (run, names) => {
  const places = names.map((name) => place(run, name));
  return (row) => JSON.stringify(places.map((at) => row[at]));
};

const element = (tag, text, numeric) => {
  const cell = document.createElement(tag);
  cell.textContent = text;
  if (numeric) cell.className = "n";
  return cell;
};

const draw = () => {
  const run = runs.find((known) => known.name === first.value);
  const other = runs.find((known) => known.name === second.value);
  if (!run) return;
  const at = place(run, metric.value);
  const accepted = tests(filter.value, run);
  let rows = run.rows.filter((row) => accepted.every((test) => test(row))).map((row) => ({ cells: row, extra: [] }));
  let columns = run.columns.map((column, index) => ({ ...column, index }));
  const extra = [];
  if (other) {
    const names = run.columns.filter((column) => column.parameter && place(other, column.name) >= 0).map((column) => column.name);
    const theirs = new Map(other.rows.map((row) => [key(other, names)(row), row]));
    const atOther = place(other, metric.value);
    const own = key(run, names);
    for (const row of rows) {
      const match = theirs.get(own(row.cells));
      const value = match && atOther >= 0 ? match[atOther] : null;
      const ratio = typeof value === "number" && value !== 0 && typeof row.cells[at] === "number" ? row.cells[at] / value : null;
      row.extra = [value, ratio];
    }
    extra.push(`${metric.value} of ${other.name}`, `${run.name} / ${other.name}`);
    const differs = (column) => run.rows.some((row) => row[column.index] !== run.rows[0][column.index]);
    columns = columns.filter((column) => (column.parameter ? differs(column) : column.index === at));
  }
  const value = (row, index) => (index < columns.length ? row.cells[columns[index].index] : row.extra[index - columns.length]);
  if (sorted.column >= 0) {
    const compare = (a, b) =>
      typeof a === "number" && typeof b === "number" ? a - b : shown(a).localeCompare(shown(b), "en", { numeric: true });
    rows.sort((a, b) => sorted.sign * compare(value(a, sorted.column), value(b, sorted.column)));
  }
  const head = document.createElement("tr");
  [...columns.map((column) => [column.name, column.number, column.doc]), ...extra.map((name) => [name, true, ""])].forEach(
    ([name, numeric, doc], index) => {
      const cell = element("th", "", numeric);
      cell.scope = "col";
      cell.title = doc;
      const button = element("button", name);
      button.type = "button";
      button.addEventListener("click", () => {
        sorted = { column: index, sign: sorted.column === index ? -sorted.sign : 1 };
        draw();
        table.tHead.rows[0].cells[index].firstChild.focus();
      });
      if (sorted.column === index) cell.setAttribute("aria-sort", sorted.sign > 0 ? "ascending" : "descending");
      cell.append(button);
      head.append(cell);
    },
  );
  const body = document.createElement("tbody");
  for (const row of rows.slice(0, ROWS_MAX)) {
    const line = document.createElement("tr");
    const add = (value, name, numeric) => {
      const cell = element("td", human(value, name), numeric);
      if (cell.textContent !== shown(value)) cell.title = value;
      line.append(cell);
    };
    for (const column of columns) add(row.cells[column.index], column.name, column.number);
    row.extra.forEach((number, index) => {
      if (index === 0 || number === null) return add(number, metric.value, true);
      const rounded = Number(number.toPrecision(4));
      const cell = element("td", shown(rounded), true);
      if (rounded !== 1) cell.classList.add(rounded > 1 ? "more" : "less");
      cell.title = number;
      line.append(cell);
    });
    body.append(line);
  }
  const heads = document.createElement("thead");
  heads.append(head);
  table.replaceChildren(heads, body);
  table.classList.toggle("compared", Boolean(other));
  const ratios = rows.map((row) => row.extra[1]).filter((ratio) => typeof ratio === "number" && ratio > 0);
  const mean = ratios.length ? Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length) : null;
  summary.textContent =
    `${rows.length} of ${run.rows.length} rows` +
    (rows.length > ROWS_MAX ? `, the first ${ROWS_MAX} shown` : "") +
    (mean === null ? "" : `; ${metric.value} is ${mean.toPrecision(4)} times that of ${other.name} (geometric mean of ${ratios.length} rows)`);
};

const offer = () => {
  const run = runs.find((known) => known.name === first.value);
  if (!run) return;
  const before = metric.value;
  metric.replaceChildren(
    ...run.columns.filter((column) => !column.parameter && column.number).map((column) => element("option", column.name)),
  );
  const names = [...metric.options].map((option) => option.value);
  metric.value = names.includes(before) ? before : names.includes("time_ns") ? "time_ns" : names[0];
  sorted = { column: -1, sign: 1 };
  draw();
};

/* A heading that the keyboard reaches is scrolled out from under the ratios, which browsers do not do by themselves. */
table.addEventListener("focusin", (event) => {
  const cell = event.target.closest("th");
  const ratios = table.tHead.rows[0].lastChild;
  if (!cell || cell === ratios || !table.classList.contains("compared")) return;
  const region = table.parentElement;
  const [own, around] = [cell, region].map((shape) => shape.getBoundingClientRect());
  const hidden = own.right - ratios.getBoundingClientRect().left;
  if (hidden > 0) region.scrollLeft += hidden;
  else if (own.left < around.left) region.scrollLeft -= around.left - own.left;
});

document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
first.addEventListener("change", offer);
for (const control of [second, metric]) control.addEventListener("change", draw);
filter.addEventListener("input", draw);
offer();
