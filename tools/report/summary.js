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
    l.loop = l.loop || s.kind === "loop";
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

/// The source lines, up to 12, of the loop that begins in a line: up to the brace that closes it.
function loopText(source, line) {
  const text = [];
  let depth = 0;
  for (let k = line - 1; k < source.length && text.length < 12; ++k) {
    text.push(source[k]);
    const code = source[k].replace(/"(?:[^"\\]|\\.)*"/g, "").replace(/\/\/.*/, "");
    depth += (code.match(/{/g) || []).length - (code.match(/}/g) || []).length;
    if (depth <= 0 && code.includes("}")) return text;
  }
  return text.length < 12 ? text.slice(0, 1) : [...text.slice(0, 11), "…"];
}

/// Without the blanks that all lines begin with.
function dedented(lines) {
  const least = Math.min(...lines.filter((l) => l.trim() !== "").map((l) => l.length - l.trimStart().length));
  return lines.map((l) => l.slice(Math.min(least, l.length - l.trimStart().length)));
}

/// `2, 3 and 5`
function listed(numbers) {
  return numbers.length < 2 ? numbers.join("") : numbers.slice(0, -1).join(", ") + " and " + numbers[numbers.length - 1];
}

/// Why ranks had nothing to do: the lines whose tasks one rank has alone, the longest first. Empty where ranks are not listed, or all have tasks.
function idleText() {
  const tasksOf = (s, r) => (s.per_rank && s.per_rank[r] && s.per_rank[r].measured ? s.per_rank[r].measured.tasks : 0);
  const ranks = stats.per_rank.map((_, r) => r);
  if (ranks.length < 2 || !stats.statements.some((s) => s.per_rank)) return "";
  const worked = (s) => ranks.filter((r) => tasksOf(s, r) > 0);
  const wall = (s) => (s.measured || {}).wall || 0;
  const alone = stats.statements.filter((s) => worked(s).length === 1 && wall(s) > 0).sort((a, b) => wall(b) - wall(a));
  const total = stats.statements.reduce((sum, s) => sum + wall(s), 0);
  const idle = ranks.filter((r) => stats.statements.every((s) => tasksOf(s, r) === 0));
  const share = alone.reduce((sum, s) => sum + wall(s), 0) / Math.max(total, 1e-12);
  if (idle.length === 0 && share < 0.2) return "";
  const why = { loop: "a loop over single elements is one task", collect: "what is printed or decided is brought to one rank" };
  const lines = alone.slice(0, 3).map((s) => `line ${s.line} (${s.name}) on rank ${worked(s)[0]}: ${why[s.kind] || "it is one task"}`);
  const begin = idle.length > 0 ? `Rank${idle.length > 1 ? "s" : ""} ${listed(idle)} had no task` : `One rank alone had tasks for ${Math.round(100 * share)} % of the time`;
  return begin + (lines.length > 0 ? "; one rank alone computes " + lines.join("; ") : "") + ".";
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
    const known = !l.file && source[l.line - 1] !== undefined;
    const loop = known && l.loop ? dedented(loopText(source, l.line)) : [];
    const code = loop.length > 1 ? element("pre", {}, loop.join("\n")) : known ? source[l.line - 1].trim() : l.names.join(", ");
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
