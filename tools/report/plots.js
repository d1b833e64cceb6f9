// Memory over time, and who received from whom.

function mostOf(rows, key) {
  return rows.reduce((most, row) => Math.max(most, key(row) || 0), 0);
}

/// How high the plot is, in bytes, and the plan and the limit as lines over it. The plot is as high as what was planned and measured need; a limit
/// far above is `beyond` it.
function memoryScale(measured) {
  const plan = mostOf(stats.per_rank, (rank) => rank.predicted && rank.predicted.peak_block_bytes);
  const top = 1.12 * Math.max(measured, plan, 1);
  const levels = plan > 0 ? [{ name: "plan", bytes: plan, colour: "#2a9d6f" }] : [];
  const limit = { name: "limit", bytes: stats.memory_limit || 0, colour: "#d0021b" };
  const beyond = limit.bytes > top ? `; the limit, ${bytesText(limit.bytes)}, lies above the plot` : "";
  if (limit.bytes > 0 && beyond === "") levels.push(limit);
  return { top, levels, beyond };
}

function drawLevels(context, levels, top, x0, x1, height) {
  context.textBaseline = "bottom";
  for (const level of levels) {
    const y = height - (level.bytes / top) * height;
    context.fillStyle = level.colour;
    context.fillRect(x0, y, x1 - x0, 1);
    context.textAlign = "right";
    context.fillText(`${level.name} ${bytesText(level.bytes)}`, x1, y - 1);
  }
}

function drawMemory(events) {
  const canvas = document.getElementById("memory");
  const height = 180;
  const context = sized(canvas, height + 24);
  const width = canvas.parentElement.clientWidth;
  const left = 90;
  const samples = events ? memorySamples(events) : [];
  const measured = Math.max(mostOf(stats.per_rank, (rank) => rank.peak_block_bytes), ...samples.map((s) => s.most));
  const { top, levels, beyond } = memoryScale(measured);
  context.fillStyle = "#6b7488";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const part of [0, 0.25, 0.5, 0.75]) context.fillText(bytesText(part * top), left - 6, height * (1 - part));
  const note = document.getElementById("memory-note");
  if (samples.length > 0) {
    const end = events.end * events.unit;
    const x = (time) => left + (time / events.end) * (width - left);
    samples.forEach((rank) => {
      context.strokeStyle = samples.length > kRanksColoured ? "hsl(220 60% 55% / 0.35)" : rankColour(rank.rank);
      context.beginPath();
      let last = -1;
      for (const [time, bytes] of rank.points) {
        const y = height - (bytes / top) * height;
        if (last < 0) context.moveTo(x(time), y);
        else {
          context.lineTo(x(time), last);
          context.lineTo(x(time), y);
        }
        last = y;
      }
      context.stroke();
    });
    timeAxis(context, left, width, height + 2, 0, end);
    note.textContent = "Blocks held by each rank; samples at most every millisecond, between which peaks may lie" + beyond + ".";
    if (samples.length <= kRanksColoured) drawLegend("memory-legend", samples.map((rank) => [rankColour(rank.rank), `rank ${rank.rank}`]));
  } else {
    const step = (width - left) / stats.per_rank.length;
    context.fillStyle = "#2f6fde";
    stats.per_rank.forEach((rank, r) => {
      const h = ((rank.peak_block_bytes || 0) / top) * height;
      context.fillRect(left + r * step, height - h, Math.max(1, step - 1), h);
    });
    note.textContent = "Peak of the blocks held by each rank, from rank 0 on; with a trace: over time" + beyond + ".";
  }
  drawLevels(context, levels, top, left, width, height);
}

/// [{rank, most, points: [[time, bytes]]}] in the order of time.
function memorySamples(events) {
  const ranks = new Map();
  for (const lane of events.lanes) {
    for (let i = lane.first; i < lane.first + lane.count; ++i) {
      if (events.kind[i] !== 7) continue;
      if (!ranks.has(lane.rank)) ranks.set(lane.rank, { rank: lane.rank, most: 0, points: [] });
      const rank = ranks.get(lane.rank);
      rank.points.push([events.start[i], events.bytes[i]]);
      rank.most = Math.max(rank.most, events.bytes[i]);
    }
  }
  for (const rank of ranks.values()) rank.points.sort((a, b) => a[0] - b[0]);
  return [...ranks.values()];
}

function drawMatrix() {
  const canvas = document.getElementById("matrix");
  const note = document.getElementById("matrix-note");
  const traffic = stats.traffic;
  if (!traffic) {
    const context = sized(canvas, 24);
    context.fillStyle = "#6b7488";
    context.textBaseline = "middle";
    context.fillText("One rank: nothing is sent.", 4, 12);
    return;
  }
  const rows = traffic.received_bytes;
  const n = rows.length;
  const edge = Math.max(2, Math.min(40, Math.floor(520 / n)));
  const left = 50;
  const context = sized(canvas, n * edge + 34);
  const most = rows.reduce((m, row) => Math.max(m, ...row), 0);
  rows.forEach((row, r) => {
    row.forEach((bytes, c) => {
      context.fillStyle = bytes > 0 ? `hsl(215 70% ${(92 - 62 * Math.sqrt(bytes / most)).toFixed(1)}%)` : "#f5f6f9";
      context.fillRect(left + c * edge, 16 + r * edge, edge > 4 ? edge - 1 : edge, edge > 4 ? edge - 1 : edge);
    });
  });
  const names = traffic.row + (traffic.per_row > 1 ? ` (${traffic.per_row} in a row)` : "");
  const every = Math.ceil(24 / edge);
  context.fillStyle = "#6b7488";
  for (let k = 0; k < n; k += every) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(String(k), left - 4, 16 + (k + 0.5) * edge);
    context.textAlign = "center";
    context.fillText(String(k), left + (k + 0.5) * edge, 8);
  }
  const all = rows.reduce((sum, row) => sum + row.reduce((s, b) => s + b, 0), 0);
  const words = `Bytes received, ${names}: receivers from top to bottom, senders from left to right. ${bytesText(all)} in all, at most ${bytesText(most)} between two.`;
  note.textContent = words;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const c = Math.floor((event.clientX - box.left - left) / edge);
    const r = Math.floor((event.clientY - box.top - 16) / edge);
    note.textContent = rows[r] && rows[r][c] !== undefined ? `${r} received ${bytesText(rows[r][c])} from ${c}` : words;
  });
}
