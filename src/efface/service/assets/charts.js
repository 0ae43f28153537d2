"use strict";
// Small line charts as SVG. Colours are classes; texts are text nodes.

const SPACE = { left: 46, right: 8, top: 8, bottom: 20 };

function svgNode(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function shortNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function niceTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= raw);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) {
    ticks.push(Math.abs(tick) < step / 1e6 ? 0 : tick);
  }
  return ticks;
}

function extent(values, least) {
  let low = Math.min(...values), high = Math.max(...values);
  if (least !== undefined) low = Math.min(low, least);
  const gap = (high - low) || Math.abs(high) * 0.1 || 1;
  return [least !== undefined && low === least ? low : low - 0.05 * gap, high + 0.05 * gap];
}

// The values that set the scale: of each series the newer half, and all but a tenth at either end.
// So the first fits of a model, on a handful of rows, do not flatten what follows.
function settled(series) {
  return series.flatMap(({ values }) => {
    const known = values.filter((value) => value !== null), cut = Math.floor(known.length / 10);
    const sorted = [...known].sort((a, b) => a - b);
    return [...known.slice(Math.floor(known.length / 2)), ...sorted.slice(cut, sorted.length - cut)];
  });
}

// series: [{name, values}], values may be null; times: seconds.
function drawChart(svg, times, series, options) {
  const width = svg.clientWidth || 420, height = svg.clientHeight || 190;
  svg.replaceChildren(svgNode("title", {}, options.title));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const known = series.flatMap((each) => each.values.filter((value) => value !== null));
  if (!known.length) {
    svg.append(svgNode("text", { x: SPACE.left, y: height / 2 }, "nothing yet"));
    return;
  }
  const [low, high] = options.range || extent(options.settled ? settled(series) : known, options.least);
  const start = times[0], end = Math.max(times[times.length - 1], start + 1);
  const x = (time) => SPACE.left + (time - start) / (end - start) * (width - SPACE.left - SPACE.right);
  const y = (value) => height - SPACE.bottom - (value - low) / (high - low) * (height - SPACE.top - SPACE.bottom);
  for (const tick of niceTicks(low, high, 4)) {
    svg.append(svgNode("line", { class: "rule", x1: SPACE.left, x2: width - SPACE.right, y1: y(tick), y2: y(tick) }));
    const text = options.percent ? `${Math.round(100 * tick)} %` : shortNumber(tick);
    svg.append(svgNode("text", { x: SPACE.left - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
  }
  if (options.target !== undefined) {
    const at = y(options.target);
    svg.append(svgNode("line", { class: "target", x1: SPACE.left, x2: width - SPACE.right, y1: at, y2: at }));
  }
  const clock = (time) => new Date(1000 * time).toLocaleTimeString([], { hour12: false });
  svg.append(svgNode("text", { x: SPACE.left, y: height - 4 }, clock(start)));
  svg.append(svgNode("text", { x: width - SPACE.right, y: height - 4, "text-anchor": "end" }, clock(end)));
  // What leaves the scale is cut at the frame, which a nested SVG does.
  const frame = svgNode("svg", { width, height: height - SPACE.bottom + 1 });
  svg.append(frame);
  series.forEach((each, at) => {
    let path = "", open = false;
    each.values.forEach((value, k) => {
      if (value === null) { if (!options.join) open = false; return; }
      const place = `${x(times[k]).toFixed(1)} ${y(value).toFixed(1)}`;
      path += open ? `L${place}` : `M${place}h0`;  // a lone point is a dot
      open = true;
    });
    frame.append(svgNode("path", { d: path, class: `s${at % 8}` }));
  });
}
