// A category in two to five parts: a preview that can be adjusted before it is accepted.

const division = { id: null, count: 2, parts: [], marked: new Set(), shown: 48 };

async function openSplit(id) {
  Object.assign(division, { id, count: 2, shown: 48 });
  if (!data.categories[id]?.alive) { location.hash = ""; return; }
  await preview(2);
}

async function preview(n) {
  division.count = n;
  division.marked.clear();
  $("split-title").textContent = `Split ${nameOf(division.id)}`;
  $("split-parts").replaceChildren(make("p", { class: "wait" }, "Looking for parts …"));
  drawSplitTools(null);
  try {
    const { parts, separation } = await askJson("split", { category: division.id, parts: n });
    division.parts = parts.map(part => order(part));
    drawSplitTools(separation);
    await drawParts();
  } catch (error) {
    $("split-parts").replaceChildren(make("p", { class: "wait" }, error.message));
  }
}

// The examples of a part first, the others in their order.
const order = ({ items, examples }) => [...examples, ...items.filter(item => !examples.includes(item))];

function drawSplitTools(separation) {
  $("split-count").replaceChildren(...[2, 3, 4, 5].map(n => make("button", { type: "button", "aria-pressed": String(n === division.count),
    "data-keep": `parts-${n}`, onclick: () => preview(n) }, `${n} parts`)));
  $("split-words").textContent = separation == null ? "" : `${percent(separation)} of the neighbours of an item are in its part: ` +
    (separation > 0.95 ? "the parts lie clearly apart." : separation > 0.9 ? "the parts can be told apart." : "the parts hardly differ; look closely.");
}

async function drawParts() {
  const ids = division.parts.flatMap(part => part.slice(0, division.shown));
  await need(ids);
  keepFocus(() => $("split-parts").replaceChildren(...division.parts.map((items, part) => {
    const list = items.slice(0, division.shown);
    return make("section", { class: "panel part", "aria-label": partName(part) },
      make("h3", {}, make("span", { class: "number" }, part + 1), partName(part), make("small", {}, plural(items.length, "item", "items"))),
      make("div", { class: "items" }, list.map(item => partTile(item))),
      items.length > list.length && make("button", { type: "button", class: "quiet", onclick: () => { division.shown += 96; drawParts(); } },
        `Show more of ${count(items.length)}`));
  })));
  drawMarked();
}

const partName = part => part === 0 ? `stays ${nameOf(division.id)}` : `new category`;

function partTile(item) {
  const button = tile([item], 0), toggle = event => {
    event.stopImmediatePropagation();
    if (division.marked.has(item)) division.marked.delete(item);
    else division.marked.add(item);
    drawMarked();
  };
  button.addEventListener("click", toggle, { capture: true });
  button.addEventListener("dblclick", () => openViewer([item], 0));
  return button;
}

function drawMarked() {
  const n = division.marked.size;
  for (const element of $("split-parts").querySelectorAll("[data-item]")) {
    element.classList.toggle("chosen", division.marked.has(Number(element.dataset.item)));
    element.setAttribute("aria-pressed", String(division.marked.has(Number(element.dataset.item))));
  }
  $("split-moves").hidden = n === 0;
  $("split-moves").replaceChildren(make("span", {}, `${plural(n, "item", "items")} marked: move to`), ...division.parts.map((_, part) =>
    make("button", { type: "button", class: "second", onclick: () => toPart(part) }, make("kbd", {}, part + 1), ` part ${part + 1}`)));
  $("split-accept").disabled = division.parts.filter(part => part.length).length < 2;
}

function toPart(to) {
  const { marked } = division;
  division.parts = division.parts.map((items, part) => part === to
    ? [...marked, ...items.filter(item => !marked.has(item))] : items.filter(item => !marked.has(item)));
  marked.clear();
  drawParts();
}

async function acceptSplit() {
  const answer = await decide("split", { category: division.id, parts: division.parts.filter(part => part.length) });
  if (!answer) return;
  await refresh();
  fresh.focus = `name-${answer.touched.find(id => id !== division.id)}`;
  location.hash = "";
}

const leaveSplit = () => { location.hash = `#/category/${division.id}`; };

$("split-accept").addEventListener("click", acceptSplit);
$("split-cancel").addEventListener("click", leaveSplit);
addEventListener("keydown", event => {
  if ($("view-split").hidden || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") {
    if (division.marked.size) { division.marked.clear(); drawMarked(); }
    else leaveSplit();
  }
  const part = Number(event.key) - 1;
  if (division.marked.size && division.parts[part]) toPart(part);
});
