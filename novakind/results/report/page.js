// The page: its data, the parts that all sections share, the header, the settings and the viewer of one item.
// All text goes in by textContent, so that no name or path can become markup. Sections draw from `data` alone and can be
// drawn again after it changes: an editor only needs to call draw().

const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
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

// New categories take the first colours: they matter most.
function colour(id) {
  const found = data.categories.length - data.known;
  return hue(id >= data.known ? id - data.known : found + id);
}

function make(tag, attributes = {}, ...children) {
  const drawing = ["svg", "path", "line", "circle", "rect", "text", "g"].includes(tag);
  const element = drawing ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(2).filter(child => child != null && child !== "" && child !== false));
  return element;
}

const count = number => (number ?? 0).toLocaleString("en-US");
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const nameOf = id => data.categories[id]?.name ?? `category ${id}`;
const fileOf = path => path.split(/[\\/]/).pop() || path;

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
function picture(item, alt) {
  const source = data.pictures[item];
  if (data.signals?.items[item]) return sparkline(item, alt);
  if (data.clips?.items[item]) return clip(item, alt);
  if (source) return make("img", { src: source, alt, decoding: "async", draggable: "false" });
  const bars = data.rows[item].top.map(([id, p], place) =>
    make("rect", { x: 2 + 20 * place, y: 60 - 56 * p, width: 16, height: Math.max(1.5, 56 * p), fill: colour(id) }));
  return make("svg", { viewBox: "0 0 102 62", role: "img", "aria-label": alt, class: "spark" }, bars);
}

function secondChoice(row) {
  return row.top.length > 1 ? `or ${nameOf(row.top[1][0])}, ${percent(row.top[1][1])}` : "no other category";
}

function describe(item) {
  const row = data.rows[item];
  return `${textOf(item) ?? row.path}: ${nameOf(row.category)}, ${percent(row.top[0][1])}; ${secondChoice(row)}`;
}

// The tip that follows the pointer, on the cards and on the map.
function showTip(item, x, y) {
  const tip = $("tip");
  if (tip.hidden || tip.dataset.shown !== String(item)) fillTip(tip, item);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(x + 16, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 20 + box.height > innerHeight ? Math.max(8, y - box.height - 14) : y + 20}px`;
}

function fillTip(tip, item) {
  const row = data.rows[item], signal = data.signals?.items[item];
  const shown = data.clips?.items[item] ? tipClip(item)
    : textOf(item) ? quote(item, "whole-text") : picture(item, "");
  tip.dataset.shown = item;
  tip.classList.toggle("tall", Boolean(signal) || shown.classList.contains("frames"));
  tip.replaceChildren(
    make("div", { class: "tip-picture" }, shown, signal && gainMark(item)),
    make("div", { class: "tip-text" },
      make("strong", {}, swatch(row.category), nameOf(row.category), make("span", {}, percent(row.top[0][1]))),
      make("span", {}, secondChoice(row)),
      row.label && make("span", {}, `labeled ${row.label}`),
      row.truth && make("span", {}, `true class ${row.truth}`),
      make("code", {}, row.path)));
}

function hideTip() {
  $("tip").hidden = true;
}

// The viewer: one item, large, with its neighbours in the same list behind the arrow keys.
const viewer = { list: [], place: 0 };

function openViewer(list, place) {
  Object.assign(viewer, { list, place });
  hideTip();
  drawViewer();
  if (!$("viewer").open) $("viewer").showModal();
}

function step(by) {
  viewer.place = (viewer.place + by + viewer.list.length) % viewer.list.length;
  drawViewer();
}

function drawViewer() {
  const item = viewer.list[viewer.place], row = data.rows[item];
  const frame = $("viewer-picture"), focused = frame.contains(document.activeElement);
  frame.replaceChildren(data.signals?.items[item] ? largeSignal(item)
    : data.clips?.items[item] ? largeClip(item)
      : textOf(item) ? quote(item, "whole-text") : picture(item, row.path));
  if (focused) (frame.querySelector("button:enabled") ?? $("viewer-close")).focus();  // or the arrow keys would be lost
  $("viewer-place").textContent = viewer.list.length > 1 ? `${viewer.place + 1} of ${viewer.list.length}` : "";
  $("viewer-back").hidden = $("viewer-next").hidden = viewer.list.length < 2;
  $("viewer-title").textContent = fileOf(row.path);
  const facts = [["Path", row.path], ["Category", nameOf(row.category)], ["Given label", row.label || "none"],
    ["Split", row.split], ["True class", row.truth]];
  $("viewer-facts").replaceChildren(...facts.filter(([, value]) => value)
    .flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  $("viewer-bars").replaceChildren(...row.top.map(([id, p]) =>
    make("li", {}, make("span", {}, swatch(id), nameOf(id)), make("b", {}, percent(p, 1)),
      make("span", { class: "meter" }, make("i", { style: `width: ${100 * p}%; background: ${colour(id)}` })))));
}

$("viewer-back").addEventListener("click", () => step(-1));
$("viewer-next").addEventListener("click", () => step(1));
$("viewer-close").addEventListener("click", () => $("viewer").close());
$("viewer").addEventListener("click", event => { if (event.target === $("viewer")) $("viewer").close(); });
$("viewer").addEventListener("keydown", event => {
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
addEventListener("scroll", hideTip, { passive: true });

function reveal(id, visible) {
  $(id).hidden = !visible;
}

function drawHeader() {
  const found = data.categories.filter(category => category.new), labeled = data.items - data.unlabeled;
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
