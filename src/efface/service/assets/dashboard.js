"use strict";
// The dashboard. Everything from the service is written as text, never as HTML.

const POLL = 1000, CHECK = 5000, RECENT = 100; // milliseconds, milliseconds, rows
let roles = [], page = "models", timer = null, cards = new Map();

const $ = (id) => document.getElementById(id);
const may = (role) => roles.includes(role);
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

function node(name, options = {}, ...children) {
  const made = document.createElement(name);
  const { text, classes, ...rest } = options;
  if (text !== undefined) made.textContent = text;
  if (classes) made.className = classes;
  for (const [key, value] of Object.entries(rest)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function say(text, done = false) {
  $("message").textContent = text;
  $("message").className = done ? "done" : "";
}

async function ask(method, path, body) {
  const options = { method, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.headers = { "content-type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const found = await response.json();
  if (response.status === 401 && path !== "/session") showSignIn();
  if (!response.ok) throw new Error(found.detail);
  return found;
}

// A name as the rows have it: a text, or the number that it is the text of.
async function askAbout(path, field, text) {
  try {
    return await ask("POST", path, { [field]: text });
  } catch (error) {
    if (!/^-?\d{1,15}$/.test(text)) throw error;
    return ask("POST", path, { [field]: Number(text) });
  }
}

function attempt(work) {
  return async (event) => {
    if (event) event.preventDefault();
    try {
      await work(event);
    } catch (error) {
      say(error instanceof TypeError ? "The service does not answer." : error.message);
    }
  };
}

// -- signing in --------------------------------------------------------------------------------

function showSignIn() {
  roles = [];
  clearTimeout(timer);
  $("signed-in").hidden = true;
  $("sign-in").hidden = false;
  $("token").focus();
}

function showPages(found) {
  roles = found;
  $("sign-in").hidden = true;
  $("signed-in").hidden = false;
  $("roles").textContent = `roles: ${roles.join(", ")}`;
  const needed = { models: "read", people: "held", receipts: "read", audit: "read" };
  for (const button of document.querySelectorAll("nav [data-page]")) {
    button.hidden = !may(needed[button.dataset.page]);
  }
  const first = document.querySelector("nav [data-page]:not([hidden])");
  if (first) showPage(first.dataset.page);
  else say("This token may use the interface, but no page.");
}

function showPage(name) {
  page = name;
  for (const each of document.querySelectorAll(".page")) each.hidden = each.id !== name;
  for (const button of document.querySelectorAll("nav [data-page]")) {
    if (button.dataset.page === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  say("");
  clearTimeout(timer);
  if (name === "models") poll();
  if (name === "receipts") attempt(showReceipts)();
}

// Whether the store only reads; every token may know that.
async function checkCondition() {
  let found = { status: "ok" };
  try {
    found = await (await fetch("/health", { cache: "no-store" })).json();
  } catch {
    // Another request says that the service does not answer.
  }
  $("condition").hidden = found.status === "ok";
  $("condition").textContent = found.status === "failed" ? "The store has failed. The service ends; start it again."
    : found.status === "read-only" ? `Writes do not get through: ${found.reasons.join("; ")}. Predictions and access ` +
      "requests go on. Rows are refused or wait, and so do erasures: an erasure without a receipt is not done." : "";
  setTimeout(checkCondition, CHECK);
}

// -- models ------------------------------------------------------------------------------------

async function poll() {
  try {
    if (!document.hidden) await showModels();
    if ($("message").textContent === "The service does not answer.") say("");
  } catch (error) {
    say(error instanceof TypeError ? "The service does not answer." : error.message);
  }
  if (page === "models" && roles.length) timer = setTimeout(poll, POLL);
}

async function showModels() {
  const { models } = await ask("GET", "/models");
  if (!models.length) $("models").replaceChildren(node("section", { text: "There is no model yet." }));
  else if (!cards.size) $("models").replaceChildren();
  for (const model of models) {
    if (!cards.has(model.name)) cards.set(model.name, makeCard(model));
    const path = `/models/${encodeURIComponent(model.name)}`;
    const past = await ask("GET", `${path}/history`);
    const details = await ask("GET", path);
    fillCard(cards.get(model.name), details, past);
    if (cards.get(model.name).key !== undefined) await showKey(cards.get(model.name), path);
  }
}

const FIGURES = ["rows", "error", "covered", "penalty", "rank"];
const OF_KEYED = ["rows", "keys", "error"]; // what all models of a keyed one have together
const PLOTS = [
  ["error", "Mean error of the last 100 rows, predicted before they were learned"],
  ["covered", "Share of the last 100 sampled rows inside their 95 % intervals"],
  ["coefficients", "Coefficients"],
  ["rows", "Rows alive"],
];

function makeCard(model) {
  const card = { figures: {}, plots: {} };
  const figures = node("dl", { classes: "figures" });
  const titles = { rows: "rows alive", keys: "keys", error: "error", covered: "coverage of 95 %", penalty: "penalty", rank: "rank" };
  for (const name of model.keyed ? OF_KEYED : FIGURES) {
    const value = node("dd", { text: "–", "data-figure": name }), note = node("small");
    card.figures[name] = [value, note];
    figures.append(node("div", {}, node("dt", { text: titles[name] }), value, note));
  }
  const plots = node("div", { classes: "plots" });
  for (const [name, title] of PLOTS) {
    if (model.keyed && !OF_KEYED.includes(name)) continue;
    const svg = svgNode("svg", { class: "chart", role: "img", "aria-label": title });
    const legend = node("ul", { classes: "legend" });
    card.plots[name] = [svg, legend, title];
    plots.append(node("figure", {}, node("figcaption", { text: title }), svg, legend));
  }
  card.note = node("p", { classes: "caption" });
  const about = `${model.kind} on ${model.features.length} features${model.keyed ? ", one model per key" : ""}`;
  $("models").append(node("section", { classes: "model" },
    node("h2", { text: model.name }), node("p", { text: about, classes: "caption" }), figures, card.note, plots,
    ...(model.keyed ? keyForm(card, model) : [])));
  return card;
}

function keyForm(card, model) {
  const id = `key-${cards.size}`, path = `/models/${encodeURIComponent(model.name)}`;
  const input = node("input", { id, autocomplete: "off", spellcheck: "false", required: "" });
  const form = node("form", { classes: "key" }, input, node("button", { type: "submit", text: "Show" }));
  card.ofKey = node("div", { classes: "of-key", "aria-live": "polite" });
  form.addEventListener("submit", attempt(async () => {
    say("");
    card.key = input.value;
    await showKey(card, path);
  }));
  return [node("h3", {}, node("label", { for: id, text: "The model of a key" })), form, card.ofKey];
}

async function showKey(card, path) {
  let found;
  try {
    found = await askAbout(`${path}/keys`, "key", card.key);
  } catch (error) {
    card.key = undefined;
    card.ofKey.replaceChildren(node("p", { classes: "caption", text: error.message }));
    return;
  }
  const entries = [...Object.entries(found.coefficients), ["intercept", found.intercept]];
  const rows = entries.map(([name, value]) =>
    node("tr", {}, node("th", { text: name, scope: "row" }), node("td", { text: shortNumber(value) })));
  card.ofKey.replaceChildren(
    node("p", { classes: "caption", text: `${found.key}: ${counted(found.rows, "row")}, penalty ${shortNumber(found.penalty)}` }),
    node("div", { classes: "scroll" }, node("table", {}, node("tbody", {}, ...rows))));
}

// The means over the last rows up to each point; null where the point has none.
function movingMean(points, name) {
  let sum = 0, rows = 0, first = 0;
  const known = points.map((point) => point[name] === null ? 0 : point.learned);
  return points.map((point, k) => {
    if (!known[k]) return null;
    sum += known[k] * point[name];
    rows += known[k];
    while (rows - known[first] >= RECENT) {
      sum -= known[first] * (points[first][name] ?? 0);
      rows -= known[first++];
    }
    return sum / rows;
  });
}

function fillCard(card, model, past) {
  const points = past.points;
  const show = (name, text, note = "") => {
    if (!card.figures[name]) return;
    card.figures[name][0].textContent = text;
    card.figures[name][1].textContent = note;
  };
  const errors = movingMean(points, "error"), coverage = movingMean(points, "covered");
  const last = (values) => values.findLast((value) => value !== null) ?? null;
  const error = last(errors), covered = last(coverage);
  show("rows", model.rows.toLocaleString("en"), model.next_due === null ? "" : `next due ${dueText(model.next_due)}`);
  show("error", error === null ? "–" : shortNumber(error), "mean absolute");
  show("covered", covered === null ? "–" : `${Math.round(100 * covered)} %`);
  show("keys", (model.keys || 0).toLocaleString("en"));
  show("penalty", model.penalty === null ? "–" : shortNumber(model.penalty));
  show("rank", model.rank === null ? "–" : String(model.rank),
    model.condition === null ? "" : `condition ${shortNumber(model.condition)}`);
  card.note.textContent = past.dropped === null ? "" :
    `Someone was forgotten at ${new Date(1000 * past.dropped).toLocaleTimeString([], { hour12: false })}: ` +
    "all earlier points of this model were dropped with them.";
  const times = points.map((point) => point.at);
  const plot = (name, series, options) => {
    if (!card.plots[name]) return;
    const [svg, legend, title] = card.plots[name];
    drawChart(svg, times, series, { ...options, title });
    legend.replaceChildren(...(series.length < 2 ? [] : series.map((each, at) =>
      node("li", {}, node("i", { classes: `s${at % 8}` }), each.name))));
  };
  if (!points.length) return;
  plot("error", [{ name: "error", values: errors }], { least: 0, join: true });
  plot("covered", [{ name: "covered", values: coverage }], { range: [Math.min(0.5, ...coverage.filter((value) => value !== null)), 1.02], target: 0.95, percent: true, join: true });
  plot("rows", [{ name: "rows", values: points.map((p) => p.rows) }], { least: 0 });
  const shown = model.features.slice(0, points[0].coefficients.length);
  plot("coefficients", shown.map((name, k) => ({ name, values: points.map((p) => p.coefficients[k]) })), { settled: true });
}

function dueText(due) {
  return typeof due === "number" ? `at ${shortNumber(due)}` : new Date(due).toLocaleTimeString([], { hour12: false });
}

// -- people ------------------------------------------------------------------------------------

async function lookUp() {
  const owner = $("owner").value;
  if (!secretKept) {
    say("Download or copy the secret of the receipt first: it is shown once.");
    $("message").scrollIntoView({ block: "center" });
    return;
  }
  $("person").replaceChildren();
  say("");
  const found = await askAbout("/access-requests", "owner", owner);
  if (found.refused) {
    $("person").append(node("section", { id: "refused" }, node("h2", { text: String(found.owner) }),
      node("p", { text: "This person was forgotten for ever. All later rows of them are refused." +
        (found.rows ? "" : " Nothing is held about them.") })));
  }
  if (!found.rows) return;
  const section = node("section", { id: "held" }, node("h2", { text: found.owner }),
    node("p", { classes: "caption", text: `${counted(found.rows, "row")} in ${counted(Object.keys(found.models).length, "model")}` }));
  section.append(node("p", { classes: "actions export" },
    download("held.json", JSON.stringify(found, null, 2) + "\n", "Export as JSON"),
    download("held.csv", heldCsv(found), "Export as CSV", "text/csv")));
  for (const [name, held] of Object.entries(found.models)) section.append(heldTable(name, held));
  if (may("forget")) {
    const button = node("button", { type: "button", text: "Forget this person", classes: "danger", id: "open-confirm" });
    button.addEventListener("click", () => confirmForget(found));
    section.append(node("p", { classes: "actions" }, button));
  }
  $("person").append(section);
}

function heldTable(name, held) {
  const times = [["at", held.at], ["until", held.until]].filter(([, values]) => values !== null);
  const keys = held.keys === null ? [] : [["key", held.keys]];
  const columns = [...times, ...keys, ...Object.entries(held.features), ["response", held.responses], ["id", held.ids]];
  const head = node("tr", {}, ...columns.map(([title]) => node("th", { text: title, scope: "col" })));
  const rows = held.ids.slice(0, 500).map((_, k) => node("tr", {}, ...columns.map(([, values]) =>
    node("td", { classes: "nowrap", text: values[k] === null ? "–" : typeof values[k] === "number" ? shortNumber(values[k]) : shortTime(values[k]) }))));
  const more = held.ids.length > 500 ? `, of which the first 500 are shown` : "";
  return node("div", {}, node("h3", { text: `${name}: ${counted(held.ids.length, "row")}${more}` }),
    node("div", { classes: "scroll tall", tabindex: "0", role: "region", "aria-label": `Rows in ${name}` }, node("table", {}, node("thead", {}, head), node("tbody", {}, ...rows))));
}

// One line per value, since models have different features.
function heldCsv(found) {
  const quoted = (value) => {
    const text = value === null ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no formula
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const lines = [["model", "row", "column", "value"]];
  for (const [name, held] of Object.entries(found.models)) {
    const { features, responses, weights, keys, at, until, ids } = held;
    const columns = { key: keys, at, until, ...features, response: responses, weight: weights };
    ids.forEach((id, k) => Object.entries(columns).filter(([, values]) => values !== null)
      .forEach(([column, values]) => lines.push([name, id, column, values[k]])));
  }
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function shortTime(text) {
  return text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, "$1 $2 UTC");
}

function confirmForget(found) {
  const models = Object.keys(found.models).join(", ");
  $("confirm-text").textContent = `${counted(found.rows, "row")} of ${found.owner} in ${models} will be deleted and their ` +
    "keys destroyed. The models continue as if they had never seen them. Nothing can bring the rows back, " +
    "also no copy of the database. You get a signed receipt.";
  $("forever").checked = false;
  $("forget").onclick = attempt(async () => {
    $("confirm").close();
    await forget(found.owner, $("forever").checked);
  });
  $("confirm").showModal();
  $("keep").focus();
}

async function forget(owner, forever) {
  const secret = [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const found = await ask("POST", "/erasures", { owner, forever, secret });
  cards.clear();
  $("models").replaceChildren();
  say(`Forgotten: ${counted(found.rows, "row")}. Download the receipt and its secret for the person who asked.`, true);
  $("owner").value = "";
  secretKept = false;
  const name = `receipt-${found.number}`;
  $("person").replaceChildren(node("section", { classes: "receipt", id: "receipt" },
    node("h2", { text: `Receipt ${found.number}` }),
    node("p", { classes: "caption", text: "The receipt proves what this service stated. With the secret, which the " +
      "service does not keep, the person can show that it is about them." }),
    download(`${name}.json`, found.receipt + "\n", "Download the receipt"),
    downloadsSecret(`${name}.secret`, found.secret),
    copiesSecret(found.secret),
    printed(),
    node("p", { classes: "caption", id: "unkept", text: "The secret is shown once. Download or copy it before you leave this page." }),
    node("p", { text: `${counted(found.rows, "row")} forgotten.` + (forever ? " All later rows of this person are refused for ever." : "") }),
    node("h3", { text: "How to verify it" }),
    node("p", { text: "With both files and the public key that the operator of this service publishes, without this service:" }),
    node("p", { classes: "mono", text: `efface receipt verify ${name}.json --public-key KEY --secret ${name}.secret --owner-stdin` }),
    node("h3", { text: "The receipt" }),
    node("p", { classes: "mono wrap", text: found.receipt }),
    node("p", { classes: "mono wrap", text: `head of the chain ${found.head}` })));
}

let secretKept = true;

addEventListener("beforeunload", (event) => {
  if (!secretKept) event.preventDefault();
});

// The secret of the receipt is kept: the page may be left.
function kept() {
  secretKept = true;
  $("unkept")?.remove();
}

function downloadsSecret(name, secret) {
  const link = download(name, secret + "\n", "Download its secret");
  link.addEventListener("click", kept);
  return link;
}

function copiesSecret(secret) {
  const button = node("button", { type: "button", text: "Copy its secret" });
  button.addEventListener("click", attempt(async () => {
    await navigator.clipboard.writeText(secret);
    kept();
    say("The secret is on the clipboard.", true);
  }));
  return button;
}

function printed() {
  const button = node("button", { type: "button", text: "Print the receipt", id: "print" });
  button.addEventListener("click", () => print());
  return button;
}

function download(name, text, title, type = "application/json") {
  const link = node("a", { text: title, href: "#", download: name });
  link.addEventListener("click", () => {
    link.href = URL.createObjectURL(new Blob([text], { type }));
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  return link;
}

// -- proofs ------------------------------------------------------------------------------------

async function showReceipts() {
  const found = await ask("GET", "/receipts");
  const state = found.holds ? `${counted(found.count, "receipt")}: every signature and link of the chain is valid`
    : `The chain does not verify: ${found.finding}`;
  const rows = found.receipts.map((each) => node("tr", {},
    node("td", { classes: "nowrap" }, download(`receipt-${each.number}.json`, each.receipt + "\n", `receipt ${each.number}`)),
    node("td", { text: shortTime(each.time || "") }),
    node("td", { text: Object.entries(each.models).map(([name, count]) => `${name}: ${count}`).join(", ") || "no rows" })));
  const head = ["download", "time", "rows forgotten"].map((text) => node("th", { text, scope: "col" }));
  $("receipts").replaceChildren(node("section", {},
    node("h2", { text: "Receipts" }), node("p", { id: "chain", text: state, classes: found.holds ? "good" : "bad" }),
    node("p", { classes: "mono", text: `public key ${found.public_key}` }),
    node("p", { classes: "mono", text: `head of the chain ${found.head}` }),
    node("div", { classes: "scroll" }, node("table", {}, node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows)))));
}

async function runAudit() {
  const { models } = await ask("GET", "/models");
  const bar = $("audit-progress"), table = $("audit-table"), button = $("start-audit");
  table.tBodies[0].replaceChildren();
  bar.max = models.length || 1;
  bar.value = 0;
  bar.hidden = table.hidden = false;
  button.disabled = true;
  try {
    for (const model of models) {
      $("audit-step").textContent = `${bar.value} of ${models.length}: ${model.name}`;
      const found = (await ask("POST", "/audits", { model: model.name })).models[model.name];
      table.tBodies[0].append(node("tr", {}, node("td", { text: model.name }),
        node("td", { text: found.verdict, classes: found.holds ? "good" : "bad" })));
      bar.value += 1;
    }
    $("audit-step").textContent = `${models.length} of ${models.length} audited`;
  } finally {
    button.disabled = false;
  }
}

// -- start -------------------------------------------------------------------------------------

document.addEventListener("DOMContentLoaded", attempt(async () => {
  $("sign-in").querySelector("form").addEventListener("submit", attempt(async () => {
    const { roles: found } = await ask("POST", "/session", { token: $("token").value });
    $("token").value = "";
    say("");
    showPages(found);
  }));
  $("sign-out").addEventListener("click", attempt(async () => {
    await ask("DELETE", "/session");
    location.reload();
  }));
  for (const button of document.querySelectorAll("nav [data-page]")) {
    button.addEventListener("click", () => showPage(button.dataset.page));
  }
  $("ask").addEventListener("submit", attempt(lookUp));
  $("keep").addEventListener("click", () => $("confirm").close());
  $("start-audit").addEventListener("click", attempt(runAudit));
  checkCondition();
  const { roles: found } = await ask("GET", "/session");
  if (found.length) showPages(found);
  else showSignIn();
}));
