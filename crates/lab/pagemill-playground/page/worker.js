"use strict";
/* Runs the simulator beside the page, so that the page stays alive. */
importScripts("scenario.js");

let failure = "";
const text_at = (memory, at, bytes) => new TextDecoder().decode(new Uint8Array(memory.buffer, at, bytes).slice());

async function started() {
  const imports = {
    env: {
      pagemill_progress: (share) => postMessage({ progress: share }),
      pagemill_failed: (at, bytes) => { failure = text_at(simulator.memory, at, bytes); },
    },
  };
  const module = await WebAssembly.instantiate(await (await fetch("playground.wasm")).arrayBuffer(), imports);
  return module.instance.exports;
}

let simulator = null;
const ready = started().then((exports) => { simulator = exports; postMessage({ catalog: taken(exports.pagemill_catalog()) }); });

function taken(at) {
  const { memory } = simulator;
  const bytes = new DataView(memory.buffer).getUint32(at >>> 0, true);
  return JSON.parse(text_at(memory, (at >>> 0) + 4, bytes));
}

function answer(text) {
  const bytes = new TextEncoder().encode(text);
  const at = simulator.pagemill_allocate(bytes.length) >>> 0;
  new Uint8Array(simulator.memory.buffer, at, bytes.length).set(bytes);
  return taken(simulator.pagemill_answer());
}

/* Bytes of all allocations in whole pages, from a run in which nothing moves. */
const footprints = new Map();
function footprint(settings) {
  const text = scenarioText({ ...settings, policy: "ideal-overlap", link: "" }, 0);
  if (!footprints.has(text)) {
    const { error, results } = answer(text);
    if (error) throw new Error(error);
    footprints.set(text, JSON.parse(results).rows[0].allocated_bytes);
  }
  return footprints.get(text);
}

const pageBytes = (text) => { const [number, unit] = text.split(" "); return number * { KiB: 1024, MiB: 1 << 20 }[unit]; };

function run(settings) {
  const limited = settings.kind === "gpu" && settings.factor > 0;
  // The least memory of a machine with a driver is one of the driver's blocks.
  const page = settings.driven ? pageBytes("2 MiB") : pageBytes(settings.page_size);
  const capacity = limited ? Math.max(Math.floor(footprint(settings) / settings.factor / page), 1) * page : 0;
  const text = scenarioText(settings, capacity);
  postMessage({ text });
  return answer(text);
}

onmessage = async ({ data }) => {
  try {
    await ready;
    const began = performance.now();
    const answered = run(data);
    postMessage({ answer: answered, took_ms: performance.now() - began });
  } catch (error) {
    postMessage({ answer: { error: failure || error.message }, broken: Boolean(failure) || error instanceof WebAssembly.RuntimeError });
  }
};
ready.catch((error) => postMessage({ answer: { error: `The simulator cannot be loaded: ${error.message}` }, broken: true }));
