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
function begin() {
  if (!window.Bokeh || !Bokeh.documents.length) return setTimeout(begin, 30)
  follow()
  if (window.matchMedia("(pointer: coarse)").matches)  // on a touch screen, dragging scrolls the page
    for (const plot of Bokeh.documents[0].roots()) plot.toolbar.active_drag = null
  for (const button of document.querySelectorAll("button[data-start]"))
    button.onclick = () => model(charts.axis).setv({start: +button.dataset.start, end: +button.dataset.end})
  for (const box of document.querySelectorAll("input[data-line]"))
    box.onchange = () => { model(box.dataset.line).visible = box.checked }
  dark.addEventListener("change", follow)
  addEventListener("beforeprint", () => paint(charts.themes.light))
  addEventListener("afterprint", follow)
}
begin()
