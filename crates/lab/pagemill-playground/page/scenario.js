"use strict";
/* Settings of the page to the text of a scenario, as `pagemill run` reads it. */
const quoted = (text) => JSON.stringify(text);

function scenarioText(settings, capacity_bytes) {
  const { kind, program, sizes, pattern, machine, driven, policy, page_size, link, factor } = settings;
  const lines = [`title = ${quoted(`Playground: ${kind === "gpu" ? program : pattern}, ${policy}`)}`, `kind = ${quoted(kind)}`, `machine = ${quoted(machine)}`, "seed = 1"];
  if (kind === "gpu") {
    lines.push("", "[workload]", `name = ${quoted(program)}`, ...Object.entries(sizes).map(([name, value]) => `${name} = ${value}`));
    lines.push("", "[transfer]", `mode = ${quoted(policy)}`, `page_size = ${quoted(page_size)}`);
  } else {
    lines.push("", "[access]", `pattern = ${quoted(pattern)}`);
    lines.push("", "# Most of the memory is taken away, so that an answer takes a second.", "[residency]", `strategy = ${quoted(policy)}`, `factor = ${factor || 0.8}`, "ballast = 0.99");
  }
  const changes = [];
  if (link) changes.push(`"machine.link.bandwidth" = [${quoted(link)}]`);
  if (capacity_bytes) changes.push(`"machine.${driven ? "memory.size" : "dram.capacity"}" = [${quoted(`${capacity_bytes} B`)}]`);
  if (capacity_bytes && driven) changes.push('"machine.memory.reserved" = ["0 B"]');
  if (changes.length) lines.push("", "[sweep]", ...changes);
  return `${lines.join("\n")}\n`;
}
