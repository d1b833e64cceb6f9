// The run, its start, its warnings, its phases, its source lines.

function drawRun() {
  document.getElementById("title").textContent = stats.program;
  const nodes = stats.ranks_per_node > 1 ? ` (${stats.ranks_per_node} on every node)` : "";
  let text = `${stats.ranks} rank${stats.ranks === 1 ? "" : "s"}${nodes} × ${stats.threads} thread${stats.threads === 1 ? "" : "s"}`;
  if (stats.phases) text += `, ${secondsText(stats.phases.total)}`;
  if (stats.vectors) text += `, vectors: ${stats.vectors}`;
  const sum = (key) => stats.per_rank.reduce((total, rank) => total + (rank[key] || 0), 0);
  text += `, ${bytesText(sum("bytes_received"))} received`;
  const read = sum("disk_read"), written = sum("disk_written");
  if (read + written > 0) text += `, ${bytesText(read)} read from disk and ${bytesText(written)} written there`;
  text += `, at most ${bytesText(stats.per_rank.reduce((most, rank) => Math.max(most, rank.peak_block_bytes || 0), 0))} of blocks on a rank`;
  document.getElementById("run").textContent = text;
  const start = document.getElementById("start-up");
  if (stats.start_up && stats.start_up.length > 0) {
    start.textContent = stats.start_up.join("\n");
    start.hidden = false;
  }
  const warnings = document.getElementById("warnings");
  const list = (stats.warnings || []).slice();
  if (data.trace && data.trace.lost > 0) list.push(`${data.trace.lost} events of the trace are lost: they came faster than its buffers hold`);
  for (const warning of list) warnings.append(element("li", {}, warning));
  warnings.hidden = list.length === 0;
}

function drawPhases() {
  const colours = { start: "#8a94a6", read: "#d98324", plan: "#8557c9", compute: "#2f6fde", write: "#2a9d6f" };
  const phases = stats.phases || {};
  const total = Object.keys(colours).reduce((sum, name) => sum + (phases[name] || 0), 0);
  const bar = element("div", { class: "phase" });
  const words = [];
  for (const [name, colour] of Object.entries(colours)) {
    const seconds = phases[name] || 0;
    words.push(`${name} ${secondsText(seconds)}`);
    if (total > 0) bar.append(element("span", { style: `width:${(100 * seconds) / total}%;background:${colour}`, title: `${name}: ${secondsText(seconds)}` }, name));
  }
  document.getElementById("phases").append(bar, element("p", { class: "note" }, words.join(", ")));
}

/// Statements of one line together.
function sourceLines() {
  const lines = new Map();
  const add = (into, value) => {
    if (Array.isArray(value)) return [into[0] + value[0], into[1] + value[1]];
    return typeof value === "number" ? [into[0] + value, into[1] + value] : into;
  };
  for (const s of stats.statements) {
    const key = (s.file || "") + ":" + s.line;
    if (!lines.has(key)) {
      lines.set(key, { line: s.line, file: s.file, names: [], wall: 0, kernel: 0, waiting: 0, flops: 0, bytes: 0, tasks: 0, seconds: [0, 0], flopsForeseen: [0, 0], bytesForeseen: [0, 0], tasksForeseen: [0, 0],
        diskWaiting: 0, read: 0, written: 0, readForeseen: [0, 0], writtenForeseen: [0, 0] });
    }
    const l = lines.get(key);
    if (!l.names.includes(s.name)) l.names.push(s.name);
    l.seconds = add(l.seconds, s.predicted.seconds);
    l.flopsForeseen = add(l.flopsForeseen, s.predicted.flops);
    l.bytesForeseen = add(l.bytesForeseen, s.predicted.bytes_received);
    l.tasksForeseen = add(l.tasksForeseen, s.predicted.tasks);
    l.readForeseen = add(l.readForeseen, s.predicted.disk_read);
    l.writtenForeseen = add(l.writtenForeseen, s.predicted.disk_written);
    const m = s.measured || {};
    const threads = stats.ranks * stats.threads;
    l.wall += m.wall || 0;
    l.kernel += (m.kernel_seconds || 0) / threads;
    l.waiting += (m.waiting_seconds || 0) / threads;
    l.diskWaiting += (m.disk_waiting_seconds || 0) / threads;
    l.read += m.disk_read || 0;
    l.written += m.disk_written || 0;
    l.flops += m.flops || 0;
    l.bytes += m.bytes_received || 0;
    l.tasks += m.tasks || 0;
  }
  return [...lines.values()].sort((a, b) => a.line - b.line);
}

function drawLines() {
  const table = document.getElementById("lines");
  const source = data.source || [];
  const lines = sourceLines();
  const disk = lines.some((l) => l.read + l.written + l.readForeseen[1] + l.writtenForeseen[1] > 0);
  const heads = ["line", source.length > 0 ? "source" : "computes", "wall", "kernels", "waiting", "GFLOP/s", "received", "tasks",
    ...(disk ? ["disk busy while waiting", "read from disk", "written to disk"] : [])];
  table.append(element("tr", {}, ...heads.map((head, k) => element("th", { class: k === 1 ? "text" : undefined }, head))));
  const most = lines.reduce((m, l) => Math.max(m, l.wall), 1e-12);
  const range = ([lo, hi], text) => (lo === hi ? text(lo) : `${text(lo)} – ${text(hi)}`);
  const cell = (measured, predicted) => element("td", {}, measured, ...(predicted ? [element("span", { class: "predicted" }, predicted)] : []));
  const count = (n) => Math.round(n).toLocaleString("en");
  for (const l of lines) {
    const wall = cell(secondsText(l.wall), range(l.seconds, secondsText));
    wall.append(element("span", { class: "bar", style: `width:${(100 * l.wall) / most}%` }));
    const code = !l.file && source[l.line - 1] !== undefined ? source[l.line - 1].trim() : l.names.join(", ");
    table.append(
      element("tr", {}, element("td", { style: `border-left:4px solid ${lineColour(l.line)}` }, (l.file ? l.file + ":" : "") + (l.line || "–")),
        element("td", { class: "code", title: l.names.join(", ") }, code), wall, cell(secondsText(l.kernel)), cell(secondsText(l.waiting)),
        cell(l.kernel > 0 ? (l.flops / l.kernel / 1e9).toFixed(1) : "–"), cell(bytesText(l.bytes), range(l.bytesForeseen, bytesText)),
        cell(count(l.tasks), range(l.tasksForeseen, count)),
        ...(disk ? [cell(secondsText(l.diskWaiting)), cell(bytesText(l.read), range(l.readForeseen, bytesText)), cell(bytesText(l.written), range(l.writtenForeseen, bytesText))] : [])));
  }
  const rank = stats.per_rank.reduce((slowest, r) => ((r.wall_between_steps || 0) > (slowest.wall_between_steps || 0) ? r : slowest), {});
  if (rank.wall_between_steps !== undefined) {
    table.append(element("tr", {}, element("td", {}, "–"), element("td", { class: "text" }, "no step open: planning, reading, printing"), cell(secondsText(rank.wall_between_steps))));
  }
}
