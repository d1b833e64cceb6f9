// Events over time: a row for every thread, of the disk's too, and with messages for every lane of receives and sends.

const kindColours = { wait: "#e3e6ec", save: "#2a9d6f", plan: "#8557c9", control: "#c2410c" };

class Timeline {
  constructor(events) {
    this.events = events;
    this.canvas = document.getElementById("timeline");
    this.left = 90;
    this.end = 0;
    for (let i = 0; i < events.count; ++i) this.end = Math.max(this.end, events.start[i] + events.length[i]);
    this.end = Math.max(1, this.end);
    this.colours = this.eventColours();
    this.selected = -1;
    this.listen();
    this.whole();
  }

  rows() {
    const messages = document.getElementById("with-messages").checked;
    return this.events.lanes.filter((lane) => messages || lane.thread < 10000);
  }

  whole() {
    this.from = 0;
    this.to = this.end;
    this.draw();
  }

  /// A colour for every kind and site, so that drawing an event looks up a number.
  eventColours() {
    const colours = new Map();
    return (kind, site) => {
      const key = kind * 1048576 + site;
      if (!colours.has(key)) {
        const line = siteOf.has(site) ? siteOf.get(site).line : 0;
        colours.set(key, kindColours[kinds[kind]] || lineColour(line));
      }
      return colours.get(key);
    };
  }

  /// What the colours of this trace's events mean: source lines, the dearest first, and what is of no line.
  legend() {
    const seen = new Set(), spent = new Map();
    const { kind, site, length } = this.events;
    for (let i = 0; i < this.events.count; ++i) {
      const name = kinds[kind[i]];
      if (kindColours[name]) seen.add(name);
      else if (name !== "memory" && siteOf.has(site[i])) spent.set(siteOf.get(site[i]).line, (spent.get(siteOf.get(site[i]).line) || 0) + length[i]);
    }
    const lines = [...spent].sort((a, b) => b[1] - a[1]).map(([line]) => line);
    const names = (line) => [...new Set([...siteOf.values()].filter((s) => s.line === line).map((s) => s.name))].slice(0, 3).join(", ");
    const entries = lines.slice(0, 20).map((line) => [lineColour(line), `line ${line}: ${names(line)}`]);
    if (lines.length > 20) entries.push(["transparent", `and ${lines.length - 20} more lines`]);
    return [...entries, ...Object.keys(kindColours).filter((name) => seen.has(name)).map((name) => [kindColours[name], name])];
  }

  draw() {
    const rows = this.rows();
    this.row = Math.max(2, Math.min(18, Math.floor(560 / Math.max(1, rows.length))));
    const height = rows.length * this.row + 24;
    const context = sized(this.canvas, height);
    this.width = this.canvas.parentElement.clientWidth;
    this.drawn = 0;
    let y = 0;
    let named = -1;
    context.textBaseline = "middle";
    for (const lane of rows) {
      this.drawRow(context, lane, y);
      if (lane.rank !== named && (this.row >= 10 || y % 12 < this.row)) {
        context.fillStyle = "#1d2433";
        context.textAlign = "left";
        context.fillText(`rank ${lane.rank}`, 0, y + Math.max(6, this.row / 2));
        named = lane.rank;
      }
      if (this.row >= 10) {
        context.fillStyle = "#6b7488";
        context.textAlign = "right";
        const what = lane.thread >= 20000 ? "sent" : lane.thread >= 10000 ? "received" : lane.thread >= 9000 ? `disk ${lane.thread - 9000}` : String(lane.thread);
        context.fillText(what, this.left - 6, y + this.row / 2);
      }
      y += this.row;
    }
    this.bottom = y;
    timeAxis(context, this.left, this.width, y + 2, this.from * this.events.unit, this.to * this.events.unit);
    if (this.selected >= 0) this.drawArrows(context, rows);
  }

  drawRow(context, lane, y) {
    const { start, length, kind, site } = this.events;
    const scale = (this.width - this.left) / (this.to - this.from);
    const height = Math.max(1, this.row - 1);
    const last = lane.first + lane.count;
    let right = -1;
    let before = "";
    for (let i = this.firstVisible(lane); i < last; ++i) {
      if (start[i] > this.to) break;
      if (kind[i] === 7 || start[i] + length[i] < this.from) continue;
      const x0 = Math.max(0, (start[i] - this.from) * scale);
      const x1 = Math.min(this.width - this.left, (start[i] + length[i] - this.from) * scale);
      const colour = this.colours(kind[i], site[i]);
      // What would end in the pixel that was drawn last is not seen.
      if (x1 <= right && (colour === before || x1 - x0 < 1)) continue;
      const w = Math.max(0.7, x1 - x0);
      if (colour !== before) context.fillStyle = before = colour;
      context.fillRect(this.left + x0, y, w, height);
      right = Math.max(right, Math.ceil(x0 + w));
      ++this.drawn;
    }
  }

  /// Events of a lane are in the order of their starts; a long one may begin far to the left of what is seen.
  firstVisible(lane) {
    const { start } = this.events;
    if (lane.longest === undefined) {
      lane.longest = 0;
      for (let i = lane.first; i < lane.first + lane.count; ++i) lane.longest = Math.max(lane.longest, this.events.length[i]);
    }
    let lo = lane.first;
    let hi = lane.first + lane.count;
    while (lo < hi) {
      const middle = (lo + hi) >> 1;
      if (start[middle] < this.from - lane.longest) lo = middle + 1;
      else hi = middle;
    }
    return lo;
  }

  /// The event at a place of the canvas; -1: none.
  at(x, y) {
    const rows = this.rows();
    const lane = rows[Math.floor(y / this.row)];
    if (!lane || x < this.left) return -1;
    const { start, length, kind } = this.events;
    const time = this.from + ((x - this.left) / (this.width - this.left)) * (this.to - this.from);
    const slack = (2 * (this.to - this.from)) / (this.width - this.left);
    let best = -1;
    for (let i = this.firstVisible(lane); i < lane.first + lane.count && start[i] <= time + slack; ++i) {
      if (kind[i] === 7 || start[i] + length[i] < time - slack) continue;
      if (best < 0 || length[i] <= length[best]) best = i;
    }
    return best;
  }

  laneOf(i) {
    return this.events.lanes.find((lane) => lane.first <= i && i < lane.first + lane.count);
  }

  /// What the event is, in words.
  describe(i) {
    const e = this.events;
    const site = siteOf.get(e.site[i]);
    const lane = this.laneOf(i);
    const words = [`${kinds[e.kind[i]]} on rank ${lane.rank}`, `from ${secondsText(e.start[i] * e.unit)}, ${secondsText(e.length[i] * e.unit)} long`];
    if (site) words.push(`line ${site.line}: ${site.name} (${site.kind})`);
    const none = 1048575;
    if (e.operation[i] !== 0) words.push(`operation ${e.operation[i] - 1}` + (e.panel[i] !== none ? `, panel ${e.panel[i]}` : ""));
    if (e.peer[i] !== none) words.push(`${e.kind[i] === 2 ? "from" : "to"} rank ${e.peer[i]}`);
    if (ofDisk(e.kind[i]) && siteOf.has(e.request[i])) words.push("`" + siteOf.get(e.request[i]).name + "`");
    if (e.bytes[i] > 0) words.push(bytesText(e.bytes[i]));
    return words.join("   ");
  }

  /// [receive, send, task] of the request that the event belongs to; -1 for what is not in the trace.
  related(i) {
    const e = this.events;
    const found = [-1, -1, -1];
    if (e.request[i] === 0 || ofDisk(e.kind[i])) return found;
    const asking = e.kind[i] === 3 ? e.peer[i] : this.laneOf(i).rank;
    for (const lane of e.lanes) {
      for (let k = lane.first; k < lane.first + lane.count; ++k) {
        if (e.request[k] !== e.request[i]) continue;
        if (e.kind[k] === 2 && lane.rank === asking) found[0] = k;
        if (e.kind[k] === 3 && e.peer[k] === asking) found[1] = k;
        if (e.kind[k] === 0 && lane.rank === asking && found[2] < 0) found[2] = k;
      }
    }
    return found;
  }

  drawArrows(context, rows) {
    const e = this.events;
    const place = (i) => {
      const y = rows.indexOf(this.laneOf(i));
      return y < 0 ? null : [this.left + ((e.start[i] - this.from) / (this.to - this.from)) * (this.width - this.left), (y + 0.5) * this.row];
    };
    const points = this.related(this.selected).filter((i) => i >= 0).map(place).filter((p) => p !== null);
    context.strokeStyle = "#d0021b";
    context.lineWidth = 1.5;
    context.beginPath();
    points.forEach(([x, y], k) => (k === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.stroke();
    const own = place(this.selected);
    if (own) context.strokeRect(own[0] - 1, own[1] - this.row / 2, Math.max(3, (e.length[this.selected] / (this.to - this.from)) * (this.width - this.left)), this.row);
  }

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x] = place(event);
      const part = Math.max(0, Math.min(1, (x - this.left) / (this.width - this.left)));
      const centre = this.from + part * (this.to - this.from);
      const span = Math.max(2, Math.min(this.end, (this.to - this.from) * 1.2 ** Math.sign(event.deltaY)));
      this.show(centre - part * span, span);
    }, { passive: false });
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: this.from, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const note = document.getElementById("event");
      if (drag === null) {
        const i = this.at(...place(event));
        if (this.selected < 0) note.textContent = i >= 0 ? this.describe(i) : "\u00a0";
        return;
      }
      const moved = event.clientX - drag.x;
      drag.moved = drag.moved || Math.abs(moved) > 3;
      if (drag.moved) this.show(drag.from - (moved / (this.width - this.left)) * (this.to - this.from), this.to - this.from);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (drag !== null && !drag.moved) this.select(this.at(...place(event)));
      drag = null;
    });
    document.getElementById("whole").addEventListener("click", () => this.whole());
    document.getElementById("with-messages").addEventListener("change", () => this.draw());
  }

  show(from, span) {
    this.from = Math.max(0, Math.min(this.end - span, from));
    this.to = this.from + span;
    this.draw();
  }

  select(i) {
    this.selected = i;
    const note = document.getElementById("event");
    note.textContent = i >= 0 ? [i, ...this.related(i).filter((k) => k >= 0 && k !== i)].map((k) => this.describe(k)).join("\n") : "\u00a0";
    this.draw();
  }
}
