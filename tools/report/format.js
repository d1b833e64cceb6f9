// Numbers as people read them, and elements.

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let u = 0;
  while (bytes >= 1024 && u + 1 < units.length) {
    bytes /= 1024;
    ++u;
  }
  return (u === 0 ? String(Math.round(bytes)) : bytes.toFixed(bytes < 10 ? 2 : 1)) + " " + units[u];
}

function secondsText(seconds) {
  if (seconds === 0) return "0 s";
  const size = Math.abs(seconds);
  if (size >= 7200) return (seconds / 3600).toFixed(1) + " h";
  if (size >= 1) return seconds.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1) + " s";
  if (size >= 1e-3) return (seconds * 1e3).toFixed(size < 0.01 ? 3 : 2) + " ms";
  return (seconds * 1e6).toFixed(2) + " µs";
}

/// A predicted value: a number, or its bounds.
function predictedText(value, text) {
  if (value === undefined) return "";
  return Array.isArray(value) ? text(value[0]) + " – " + text(value[1]) : text(value);
}

function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style") e.style.cssText = value;
    else if (value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

/// A colour for a number, far from its neighbours'.
function hue(number) {
  return (number * 137.508) % 360;
}
function lineColour(line) {
  return `hsl(${hue(line)} 55% 52%)`;
}

/// Of so many ranks each has a colour of its own.
const kRanksColoured = 16;
function rankColour(rank) {
  return `hsl(${hue(rank)} 60% 45%)`;
}

/// What colours mean: [[colour, words]].
function drawLegend(id, entries) {
  const legend = document.getElementById(id);
  legend.replaceChildren(...entries.map(([colour, words]) => element("span", {}, element("i", { style: `background:${colour}` }), words)));
}

/// A canvas of that height, as fine as the screen; returns its context.
function sized(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return context;
}

/// Steps of 1, 2 or 5 times a power of ten.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least * 0.999);
}

/// Ticks of a time axis along the bottom.
function timeAxis(context, x0, x1, y, from, to) {
  const step = niceStep(((to - from) * 90) / Math.max(1, x1 - x0));
  context.fillStyle = "#6b7488";
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = x0 + ((t - from) / (to - from)) * (x1 - x0);
    context.fillRect(x, y, 1, 4);
    context.fillText(secondsText(Math.abs(t) < step / 1e6 ? 0 : t), x, y + 5);
  }
}
