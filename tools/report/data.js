// What the page holds: `data` (statistics, what the trace says of itself, the source) and the events in columns.

const data = JSON.parse(document.getElementById("data").textContent);
const stats = data.stats;

/// Inflates bytes of the zlib format.
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/// A column: its values' lowest bytes first, then all second ones, and so on. Differences within a lane are zigzag numbers.
function readColumn(bytes, at, count, width, lanes, differences) {
  const Values = width > 4 ? Float64Array : Uint32Array;
  const values = new Values(count);
  for (let plane = 0, scale = 1; plane < width; ++plane, scale *= 256) {
    const from = at + plane * count;
    for (let i = 0; i < count; ++i) {
      const byte = bytes[from + i];
      if (byte !== 0) values[i] += byte * scale;
    }
  }
  if (!differences) return values;
  let i = 0;
  for (const lane of lanes) {
    let last = 0;
    for (const end = i + lane.count; i < end; ++i) {
      const v = values[i];
      last = (last + ((v >>> 1) ^ -(v & 1))) | 0;
      values[i] = last;
    }
  }
  return values;
}

/// {count, lanes: [{rank, thread, first, count}], start, length, kind, site, peer, operation, panel, bytes, request}; times in units.
async function readEvents() {
  const form = data.events;
  if (!form) return null;
  const lanes = [];
  let first = 0;
  for (const [rank, thread, count] of form.lanes) {
    lanes.push({ rank, thread, first, count });
    first += count;
  }
  const bytes = await inflate(fromBase64(document.getElementById("events").textContent));
  const events = { count: form.count, lanes, unit: form.unit_seconds };
  let at = 0;
  for (const [name, width, differences] of form.columns) {
    events[name] = readColumn(bytes, at, form.count, width, lanes, differences);
    at += width * form.count;
  }
  return events;
}

const kinds = ["task", "wait", "receive", "send", "save", "plan", "control", "memory", "disk read", "disk write"];
const ofDisk = (kind) => kind >= 8;
const siteOf = new Map((data.trace ? data.trace.sites : []).map((site) => [site.site, site]));
