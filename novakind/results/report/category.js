// All items of a category in one grid: sorted, narrowed by confidence and status. Also those that are ignored, those
// like one item, and those that were selected on the map.

const shelf = { kind: null, id: null, items: [], sort: "confidence", down: false, status: "all", low: 0, high: 100, like: null };
let shelfGrid = null;
const LIKE = 200;  // neighbours that are asked for
const COUNTED = [[SUGGESTED, "suggested"], [CONFIRMED, "confirmed"], [LABELED, "labeled"]];

async function openShelf(kind, id) {
  const again = shelf.kind === kind && shelf.id === id;
  Object.assign(shelf, { kind, id, like: null, fixed: null });
  if (!again) Object.assign(shelf, { status: "all", low: 0, high: 100, sort: "confidence", down: false });
  if (kind === "like") await gatherLike(id);
  if (kind === "chosen") shelf.fixed = picks();
  shelfGrid ??= makeGrid($("shelf-grid"), () => ({ total: shelf.shown?.length ?? 0, where: "selected" }));
  drawShelf();
  shelfGrid.top();
  if (kind === "like") select(shelf.shown.slice(0, 24), "only", { total: shelf.shown.length, where: "selected" });
  else if (kind !== "chosen") select([]);
  $("shelf-grid").focus({ preventScroll: true });
}

async function gatherLike(item) {
  const { items, likeness } = await askJson(`neighbours/${item}?count=${LIKE}`);
  await need([item]);
  shelf.like = new Map([[item, 1], ...items.map((one, place) => [one, likeness[place]])]);
  shelf.fixed = [...shelf.like.keys()];
  Object.assign(shelf, { sort: "likeness", down: true });
}

function stock() {
  if (shelf.kind === "category") return members(shelf.id);
  return shelf.kind === "ignored" ? ignoredItems() : shelf.fixed;
}

const KEYS = {
  confidence: item => table.probability[item],
  likeness: item => shelf.like?.get(item) ?? table.likeness[item],
  name: item => (table.order?.[item] ?? item) / 1e6,
};

function drawShelf() {
  const { kind, id, status, low, high } = shelf, category = data.categories[id];
  if (kind === "category" && !category?.alive) {
    const into = category?.into;
    location.replace(into == null ? "#" : `#/category/${into}`);
    return;
  }
  const now = [kind, id, shelf.sort, shelf.down, table.category, shelf.fixed];
  if (now.some((part, place) => part !== shelf.sorted?.[place])) {
    shelf.items = ordered(stock(), KEYS[shelf.sort], shelf.down);
    shelf.sorted = now;
  }
  const wanted = COUNTED.find(([, word]) => word === status)?.[0], { probability } = table;
  shelf.shown = shelf.items.filter(item => (wanted == null || table.status[item] === wanted) &&
    100 * probability[item] >= low - 1e-4 && (high === 100 || 100 * probability[item] <= high));
  shelfGrid.show(shelf.shown);
  drawShelfHead();
}

function drawShelfHead() {
  const { kind, id, items, shown } = shelf, mine = kind === "category";
  const titles = { like: () => `Most like ${fileOf(data.rows[id].path)}`, ignored: () => "Ignored", chosen: () => "Selected on the map" };
  const head = mine ? [swatch(id), nameField(data.categories[id])] : [make("span", {}, titles[kind]())];
  keepFocus(() => $("shelf-title").replaceChildren(...head));
  $("shelf-count").textContent = shown.length === items.length ? plural(items.length, "item", "items")
    : `${count(shown.length)} of ${plural(items.length, "item", "items")}`;
  const counts = [0, 0, 0, 0];
  for (const item of items) counts[table.status[item]] += 1;
  const tally = COUNTED.map(([number, word]) => [word, counts[number]]);
  $("shelf-status").replaceChildren(...[["all", items.length], ...tally].filter(([word, n]) => n || word === "all" || word === shelf.status)
    .map(([word, n]) => make("button", { type: "button", "aria-pressed": String(shelf.status === word),
      onclick: () => { shelf.status = word; drawShelf(); } }, `${word} ${count(n)}`)));
  for (const tool of ["split", "merge", "confirm", "map"]) $(`shelf-${tool}`).hidden = !mine;
  $("shelf-confirm").disabled = !shown.some(item => table.status[item] === SUGGESTED);
  $("shelf-confirm").textContent = shown.length === items.length ? "Confirm all" : `Confirm ${count(shown.length)} shown`;
  $("shelf-split").disabled = items.length < 2;
  $("shelf-sort").value = shelf.sort;
  $("shelf-turn").textContent = shelf.down ? "↓" : "↑";
  $("shelf-turn").setAttribute("aria-label", shelf.down ? "Greatest first; turn the order" : "Least first; turn the order");
  $("shelf-low").value = shelf.low;
  $("shelf-high").value = shelf.high;
  $("shelf-range").textContent = `${shelf.low} to ${shelf.high} %`;
  $("shelf-slider").style.cssText = `--low: ${shelf.low}%; --high: ${shelf.high}%`;
  $("shelf-none").hidden = shown.length > 0;
  $("shelf-none").textContent = items.length ? "No item has this confidence and status." : kind === "ignored"
    ? "Nothing is ignored. Items that you ignore are left out of learning and exports." : "This category has no items any more.";
}

// Keeps what is being typed, and where, while a part of the page is drawn again.
function keepFocus(redraw) {
  const active = document.activeElement, key = active?.dataset?.keep;
  const typed = key && { value: active.value, start: active.selectionStart, end: active.selectionEnd, changed: active.value !== active.dataset.saved };
  redraw();
  const there = key && document.querySelector(`[data-keep="${key}"]`);
  if (!there || document.activeElement === there) return;
  there.focus({ preventScroll: true });
  if (!there.matches("input")) return;
  if (typed.changed) there.value = typed.value;
  there.setSelectionRange(typed.start, typed.end);
}

async function confirmShown() {
  const items = shelf.shown.filter(item => table.status[item] === SUGGESTED);
  const whole = shelf.kind === "category" && shelf.shown.length === shelf.items.length;
  if (items.length) await decide("confirm", whole ? { category: shelf.id } : { items });
}

function narrow() {
  const ends = [Number($("shelf-low").value), Number($("shelf-high").value)].sort((a, b) => a - b);
  [shelf.low, shelf.high] = ends;
  drawShelf();
}

$("shelf-sort").addEventListener("change", event => {
  Object.assign(shelf, { sort: event.target.value, down: event.target.value === "likeness" && shelf.kind === "like" });
  if (shelf.sort === "name" && !table.order) return readOrder().then(drawShelf);
  return drawShelf();
});
$("shelf-turn").addEventListener("click", () => { shelf.down = !shelf.down; drawShelf(); });
$("shelf-low").addEventListener("input", narrow);
$("shelf-high").addEventListener("input", narrow);
$("shelf-confirm").addEventListener("click", confirmShown);
$("shelf-split").addEventListener("click", () => { location.hash = `#/split/${shelf.id}`; });
$("shelf-merge").addEventListener("click", () => mergeWith(shelf.id));
$("shelf-map").addEventListener("click", () => { location.hash = ""; requestAnimationFrame(() => showOnMap(shelf.id)); });
$("shelf-all").addEventListener("click", () => select(shelf.shown, "only", { total: shelf.shown.length, where: "selected" }));
