"use strict"
// Recolours the charts when the theme of the page changes, and connects buttons and check boxes.
const dark = window.matchMedia("(prefers-color-scheme: dark)")
const model = id => Bokeh.documents[0].get_model_by_id(id)
function paint(theme) {
  for (const [id, colours] of Object.entries(charts.themed)) {
    const target = model(id)
    // Properties of glyphs are vectorised: Bokeh wants {value: colour} for them.
    const glyph = "fill_alpha" in target || "line_alpha" in target && "line_width" in target && target.type != "Span"
    for (const [name, colour] of Object.entries(colours))
      target.setv({[name]: glyph ? {value: theme[colour]} : theme[colour]})
  }
}
function follow() { paint(dark.matches ? charts.themes.dark : charts.themes.light) }
const missing = columns => Object.fromEntries(
  Object.entries(columns).map(([name, values]) => [name, values.map(v => v === null ? NaN : v)]))
// Shows what the reader has chosen: a selection is the id of a data source, and columns by group and feature.
function choose([source, choices], group, feature) {
  const found = choices[group.value][feature ? feature.value : ""]
  model(source).data = missing(found)
}
function connect(selection, group, feature, after) {
  if (!selection || !group) return
  const update = () => { choose(selection, group, feature); if (after) after(group.value) }
  for (const each of [group, feature]) if (each) each.onchange = update
}
function showScores(group) {
  for (const cell of document.querySelectorAll("td[data-scores]"))
    cell.textContent = JSON.parse(cell.dataset.scores)[group] ?? "–"
}
function begin() {
  if (!window.Bokeh || !Bokeh.documents.length) return setTimeout(begin, 30)
  follow()
  if (window.matchMedia("(pointer: coarse)").matches)  // on a touch screen, dragging scrolls the page
    for (const plot of Bokeh.documents[0].roots()) plot.toolbar.active_drag = null
  for (const button of document.querySelectorAll("button[data-start]"))
    button.onclick = () => model(charts.axis).setv({start: +button.dataset.start, end: +button.dataset.end})
  for (const box of document.querySelectorAll("input[data-line]"))
    box.onchange = () => { model(box.dataset.line).visible = box.checked }
  const find = id => document.getElementById(id)
  connect(charts.paths, find("path-group"), find("path-feature"))
  connect(charts.errors, find("error-group"), null, showScores)
  // The y ranges follow a change of the x range, so that the first view must be one.
  const {start, end} = document.querySelector("button[data-first]").dataset
  model(charts.axis).setv({start: +start, end: +end + 1e-6 * (end - start)})
  dark.addEventListener("change", follow)
  addEventListener("beforeprint", () => paint(charts.themes.light))
  addEventListener("afterprint", follow)
}
begin()
