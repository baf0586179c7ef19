"use strict";
/* The page around the simulator: settings in, table and page map out. */
const get = (id) => document.getElementById(id);
const REPLAY_MS = 1500;

class Playground {
  constructor() {
    this.form = get("settings");
    this.view = document.querySelector(".map").view;
    this.runs = [];
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    this.form.addEventListener("change", (event) => this.changed(event.target));
    get("stop").addEventListener("click", () => this.stop());
    get("replay").addEventListener("click", () => this.replay());
    get("clear").addEventListener("click", () => { this.runs = this.runs.slice(-1); this.showRuns(); });
    get("copy-scenario").addEventListener("click", () => this.copy("scenario"));
    get("copy-command").addEventListener("click", () => this.copy("command"));
    this.start();
  }

  start() {
    this.worker = new Worker("worker.js");
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = (event) => this.ended({ error: `The simulator cannot be loaded: ${event.message || "is this page served by a file server?"}` });
  }

  heard({ catalog, progress, text, answer, took_ms, broken }) {
    if (catalog && !this.catalog) this.offer(catalog);
    if (progress !== undefined) get("progress").value = progress;
    if (text) get("scenario").value = text;
    if (answer) {
      if (broken) { this.worker.terminate(); this.start(); }
      this.ended(answer, took_ms);
    }
  }

  offer(catalog) {
    this.catalog = catalog;
    const options = (entries) => entries.map(({ name, summary, title }) => { const option = new Option(name, name); option.title = summary || title || ""; return option; });
    const group = (label, entries) => element("optgroup", { label }, ...options(entries));
    get("program").replaceChildren(group("Programs", catalog.programs), group("Access patterns", catalog.patterns));
    get("program").value = "bfs";
    get("machine").replaceChildren(...options(catalog.machines));
    get("machine").value = "gtx480";
    this.changed(get("program"));
    this.say("Ready.");
    get("run").disabled = false;
    document.body.dataset.ready = "yes";
    this.run();
  }

  isPattern() { return this.catalog.patterns.some(({ name }) => name === get("program").value); }

  /* Offers what goes together: patterns and some modes need a driver, and drivers pages of 2 MiB. */
  changed(control) {
    const { catalog } = this;
    if (!catalog) return;
    const pattern = this.isPattern();
    for (const option of get("machine").options) option.disabled = pattern && !catalog.machines.find(({ name }) => name === option.value).driven;
    if (get("machine").selectedOptions[0].disabled) get("machine").value = [...get("machine").options].find((option) => !option.disabled).value;
    const machine = catalog.machines.find(({ name }) => name === get("machine").value);
    const modes = catalog.modes.filter(({ driven }) => machine.driven || !driven);
    this.refill(get("policy"), pattern ? catalog.strategies : modes, pattern ? "on-demand" : "multi-range");
    const mode = catalog.modes.find(({ name }) => name === get("policy").value);
    const driven = !pattern && mode && mode.driven;
    get("page_size").disabled = pattern || driven;
    if (pattern || driven) get("page_size").value = "2 MiB";
    if (control === get("program")) this.offerSizes(pattern);
    get("about").textContent = this.about(pattern);
  }

  refill(select, entries, usual) {
    const before = select.value;
    select.replaceChildren(...entries.map(({ name, summary }) => { const option = new Option(name, name); option.title = summary; return option; }));
    const has = (name) => entries.some((entry) => entry.name === name);
    select.value = has(before) ? before : has(usual) ? usual : entries[0].name;
  }

  offerSizes(pattern) {
    const program = this.catalog.programs.find(({ name }) => name === get("program").value);
    const field = ({ name, doc, value, minimum, unit }) => element("label", { title: doc }, `${name.replaceAll("_", " ")} `, element("input", { type: "number", name: `size-${name}`, value, min: minimum, required: true, "data-unit": unit }));
    get("sizes").replaceChildren(...(pattern ? [] : program.parameters.map(field)));
    get("sizes-of").hidden = pattern || program.parameters.length === 0;
  }

  about(pattern) {
    const of = (entries, id) => (entries.find(({ name }) => name === get(id).value) || {});
    const policy = of(pattern ? this.catalog.strategies : this.catalog.modes, "policy");
    const program = of(this.catalog.programs, "program");
    return [pattern ? "" : `${program.name}: ${program.summary}.`, policy.name ? `${policy.name}: ${policy.summary}.` : ""].join(" ").trim();
  }

  settings() {
    const sizes = {};
    for (const input of get("sizes").querySelectorAll("input")) sizes[input.name.replace("size-", "")] = input.dataset.unit ? `"${Number(input.value)} ${input.dataset.unit}"` : Number(input.value);
    const pattern = this.isPattern();
    return {
      kind: pattern ? "residency" : "gpu", program: get("program").value, pattern: get("program").value, sizes, machine: get("machine").value,
      driven: this.catalog.machines.find(({ name }) => name === get("machine").value).driven, policy: get("policy").value, page_size: get("page_size").value, link: get("link").value, factor: Number(get("factor").value),
    };
  }

  run() {
    if (!this.form.reportValidity()) return;
    document.body.dataset.answered = "";
    get("run").disabled = true;
    get("stop").disabled = false;
    get("progress").hidden = false;
    get("progress").removeAttribute("value");
    this.began = performance.now();
    this.clock = setInterval(() => this.say(`Simulating for ${((performance.now() - this.began) / 1000).toFixed(0)} s.`), 1000);
    this.say("Simulating.");
    this.worker.postMessage(this.settings());
  }

  stop() {
    this.worker.terminate();
    this.start();
    this.ended({ error: "Stopped." });
  }

  async ended(answer, took_ms) {
    clearInterval(this.clock);
    get("run").disabled = false;
    get("stop").disabled = true;
    get("progress").hidden = true;
    get("error").hidden = !answer.error;
    get("error").textContent = answer.error || "";
    if (answer.error) { this.say("No answer."); document.body.dataset.answered = "error"; return; }
    this.answer = answer;
    this.runs.push({ cells: answer.rows[0] });
    this.showRuns();
    this.showFindings(answer.findings);
    this.say(`Answered in ${(took_ms / 1000).toFixed(2)} s.`);
    get("pages").hidden = answer.maps.length === 0;
    if (answer.maps.length) await this.view.show(answer.maps[0].data);
    document.body.dataset.answered = String(this.runs.length);
    if (answer.maps.length) this.replay();
  }

  /* The map fills as it did in simulated time. Who wants less motion sees the end at once. */
  replay() {
    const { view } = this;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const began = performance.now(), map = view.map;
    const step = () => {
      const share = (performance.now() - began) / REPLAY_MS;
      if (view.map !== map) return;
      view.until = share < 1 ? share * map.end : Infinity;
      view.draw();
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }

  /* One row for each run, so that policies can be compared. */
  showRuns() {
    const { runs } = this;
    const known = new Map();
    get("clear").hidden = runs.length < 2;
    for (const { cells } of runs) for (const cell of cells) if (!known.has(cell.name)) known.set(cell.name, cell);
    const columns = [...known.values()];
    const head = element("tr", {}, ...columns.map(({ heading, doc, metric }) => element("th", { scope: "col", title: doc, className: metric ? "n" : "" }, heading)));
    const cell = (column, cells) => {
      const found = cells.find(({ name }) => name === column.name);
      return element("td", { className: column.metric ? "n" : "", title: found ? found.exact : "" }, found ? found.text : "–");
    };
    const body = [...runs].reverse().map(({ cells }) => element("tr", {}, ...columns.map((column) => cell(column, cells))));
    get("rows").replaceChildren(element("caption", {}, runs.length ? "Runs, the last first" : "No runs"), element("thead", {}, head), element("tbody", {}, ...body));
  }

  showFindings(findings) {
    get("findings").replaceChildren(...findings.map(({ reason, hint }) => element("li", {}, `${reason}. `, element("span", { className: "note" }, hint))));
    get("findings-of").hidden = findings.length === 0;
  }

  async copy(id) {
    const text = get(id).value;
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied.");
    } catch {
      get(id).select();
      this.say("Selected: copy it with the keys of your browser.");
    }
  }

  say(text) { get("status").textContent = text; }
}

window.playground = new Playground();
