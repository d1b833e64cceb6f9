// Draws every view; `tdslReady` is fulfilled with the seconds that it took since the page was opened.

async function drawAll() {
  drawRun();
  drawPhases();
  drawLines();
  drawPictures();
  drawMatrix();
  const events = await readEvents();
  let timeline = null;
  if (events) {
    timeline = new Timeline(events);
    events.end = timeline.end;
    drawLegend("timeline-legend", timeline.legend());
    const every = data.trace.kept_milliseconds;
    document.getElementById("kept").textContent = `${events.count.toLocaleString("en")} events` + (every > 1 ? `; one millisecond of every ${every} is kept` : "");
  } else {
    document.getElementById("event").textContent = "No trace was given: tdslc report STATS TRACE";
  }
  document.getElementById("idle").textContent = idleText();
  drawMemory(events);
  window.addEventListener("resize", () => {
    drawMatrix();
    drawMemory(events);
    if (timeline) timeline.draw();
  });
  window.tdslTimeline = timeline;
  return performance.now() / 1000;
}

window.tdslReady = drawAll();
