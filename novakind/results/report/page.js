// The page: its data, the parts that all sections share, the header and the settings.
// All text goes in by textContent, so that no name or path can become markup. Sections draw from `data` alone and can be
// drawn again after it changes: an editor only needs to call draw().

const $ = id => document.getElementById(id);
const data = JSON.parse($("data")?.textContent ?? "null") ?? {};  // the review asks its server for them
const table = {};  // where every item stands now: columns of the review, nothing in the report
const review = {};  // what the review adds to cards, tiles and the viewer: nothing in the report
const SVG = document.querySelector("svg").namespaceURI;

// Distinct for readers with red-green blindness too, and legible on light and dark; the first are the most distinct.
const PALETTE = [
  "#3878df", "#f08c00", "#c2255c", "#2f9e6e", "#9775fa", "#9f3a1c", "#22a7c4", "#e8709f", "#7a9a1f", "#78288f",
  "#18b892", "#cf6000", "#1850b7", "#b08d3c", "#df5868", "#508f50", "#bf589f", "#58a7e7", "#975800", "#8760bf",
  "#6fae3a", "#a72868", "#00879f", "#e78f7f", "#60588f", "#d99a00", "#006e5c", "#c77fe0", "#6b7280", "#8a6d5a",
];

const DARK = matchMedia("(prefers-color-scheme: dark)");

function hue(place) {
  if (place >= PALETTE.length) return `hsl(${(place * 137.5) % 360} 55% ${DARK.matches ? 65 : 50}%)`;
  if (!DARK.matches) return PALETTE[place];
  const parts = PALETTE[place].match(/\w\w/g).map(part => parseInt(part, 16));  // a quarter nearer to white
  return `rgb(${parts.map(part => Math.round(part + (255 - part) / 4)).join(" ")})`;
}

// New categories take the first colours: they matter most. Those that a person makes come last: colours never change.
function colour(id) {
  const outputs = data.outputs ?? data.categories.length;
  return hue(id >= outputs ? id : id >= data.known ? id - data.known : outputs - data.known + id);
}

function make(tag, attributes = {}, ...children) {
  const drawing = ["svg", "path", "line", "circle", "rect", "text", "g"].includes(tag);
  const element = drawing ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;  // a strict policy forbids the attribute, not the property
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(2).filter(child => child != null && child !== "" && child !== false));
  return element;
}

const count = number => (number ?? 0).toLocaleString("en-US");
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const living = () => data.categories.filter(category => category.alive !== false);  // not merged into another
const nameOf = id => data.categories[id]?.name ?? `category ${id}`;
const fileOf = path => path.split(/[\\/]/).pop() || path;
const categoryOf = item => table.category ? table.category[item] : data.rows[item].category;
const isLabeled = item => table.status ? table.status[item] === 0 : Boolean(data.rows[item].label);

function percent(share, digits = 0) {
  if (share == null) return "–";
  const text = (100 * share).toFixed(digits);
  // 99.7 % is not all: never round up to 100 or down to 0
  if (share < 1 && Number(text) === 100) return `${(100 - 10 ** -digits).toFixed(digits)} %`;
  if (share > 0 && Number(text) === 0) return `< ${(10 ** -digits).toFixed(digits)} %`;
  return `${text} %`;
}

function isShare(key) {
  return /_acc(\/|$)/.test(key);
}

function metricText(metric) {
  if (metric.value == null) return "not known";
  return isShare(metric.key) ? percent(metric.value, 1) : metric.value.toFixed(3);
}

function swatch(id) {
  return make("i", { class: "dot", style: `--dot: ${colour(id)}`, "aria-hidden": "true" });
}

// A picture of the item, its clip or its signal; without one, its most likely categories as bars.
function picture(item, alt, large = false) {
  const source = (large && review.large?.(item)) || data.pictures[item];
  if (data.signals?.items[item]) return sparkline(item, alt);
  if (data.clips?.items[item]) return clip(item, alt);
  if (source) return make("img", { src: source, alt, decoding: "async", draggable: "false", onerror: event => review.broken?.(event.target, item) });
  return likelihoods(item, alt);
}

function likelihoods(item, alt) {
  const bars = data.rows[item].top.map(([id, p], place) =>
    make("rect", { x: 2 + 20 * place, y: 60 - 56 * p, width: 16, height: Math.max(1.5, 56 * p), fill: colour(id) }));
  return make("svg", { viewBox: "0 0 102 62", role: "img", "aria-label": alt, class: "spark" }, bars);
}

function secondChoice(row) {
  if (row.top[0][0] !== row.category) return `the model says ${nameOf(row.top[0][0])}, ${percent(row.top[0][1])}`;
  return row.top.length > 1 ? `or ${nameOf(row.top[1][0])}, ${percent(row.top[1][1])}` : "no other category";
}

// How sure the item's category is, in words.
function sureness(item) {
  const status = table.status?.[item], { top } = data.rows[item];
  if (status === 1 || status === 3) return status === 1 ? "confirmed" : "ignored";
  return percent(table.probability ? table.probability[item] : top[0][1]);
}

function describe(item) {
  const row = data.rows[item];
  return `${textOf(item) ?? row.path}: ${nameOf(categoryOf(item))}, ${sureness(item)}; ${secondChoice(row)}`;
}

function reveal(id, visible) {
  $(id).hidden = !visible;
}

function drawHeader() {
  const found = living().filter(category => category.new), labeled = data.items - data.unlabeled;
  $("title").textContent = data.name;
  $("lead").textContent = `${plural(data.unlabeled, "unlabeled item", "unlabeled items")} sorted into ` +
    `${plural(found.length, "new category", "new categories")} and ` +
    `${plural(data.known, "known class", "known classes")}.`;
  $("warnings").replaceChildren(...data.warnings.map(text =>
    make("p", { class: "notice" }, make("b", { "aria-hidden": "true" }, "!"), make("span", {}, text))));
  const headline = ["novel_acc", "known_acc"].map(measure => ["test", "val", "train"]
    .map(split => data.metrics.find(metric => metric.key === `${measure}/${split}/agnostic`))
    .find(metric => metric && metric.value != null)).filter(Boolean);
  const tiles = [
    ["Items", count(data.items), labeled ? `${count(labeled)} of them labeled` : "none labeled"],
    ["New categories", count(found.length), `in addition to ${plural(data.known, "known class", "known classes")}`],
    ...headline.map(metric => [metric.title, metricText(metric), metric.where, metric.key]),
    ["Minutes", data.minutes == null ? "–" : data.minutes.toFixed(data.minutes < 10 ? 1 : 0), "of training"],
    ...(data.skipped ? [["Skipped files", count(data.skipped), "could not be read; listed in skipped.csv"]] : []),
  ];
  $("tiles").replaceChildren(...tiles.map(([term, value, note, key]) =>
    make("div", { class: key ? "tile strong" : "tile" }, make("dt", {}, term), make("dd", {}, value),
      make("dd", { class: "note" }, note), key && make("dd", { class: "note" }, make("code", {}, key)))));
  reveal("metrics", data.metrics.length > 0);
  $("metric-table").replaceChildren(
    make("thead", {}, make("tr", {}, ["Metric", "Value", "Measured on", "Meaning"].map(text =>
      make("th", { scope: "col" }, text)))),
    make("tbody", {}, data.metrics.map(metric => make("tr", {},
      make("th", { scope: "row" }, make("code", {}, metric.key)), make("td", { class: "number" }, metricText(metric)),
      make("td", {}, metric.where), make("td", {}, metric.meaning)))));
  $("foot").textContent = `Made by novakind${data.version ? ` ${data.version}` : ""}. ` +
    (data.skipped ? `${plural(data.skipped, "file was", "files were")} skipped: see skipped.csv in the run folder.`
      : "No file was skipped.");
}

function drawSettings() {
  reveal("settings", data.settings.length > 0);
  $("settings-tables").replaceChildren(...data.settings.map(table => make("div", { class: "panel" },
    make("h3", {}, table.name || "general"),
    make("dl", { class: "pairs" }, table.pairs.map(([key, value]) =>
      make("div", {}, make("dt", {}, key), make("dd", {}, value || "“”")))))));
}

function drawLinks() {
  const sections = [...document.querySelectorAll("section[data-link]")].filter(section => !section.hidden);
  $("links").replaceChildren(...sections.map(section =>
    make("li", {}, make("a", { href: `#${section.id}` }, section.dataset.link))));
}
