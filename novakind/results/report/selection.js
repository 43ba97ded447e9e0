// The selected items, wherever they were selected, and the bar with what can be done to them.

const chosen = { flags: null, count: 0, scope: null };  // scope: how many there are to select from, and where

const isChosen = item => chosen.flags?.[item] === 1;

function picks() {
  const found = [];
  for (let item = 0; chosen.count > found.length && item < chosen.flags.length; item += 1) if (chosen.flags[item]) found.push(item);
  return found;
}

// mode: "only" these, "add" them, "drop" them, or "turn" each over
function select(items, mode = "only", scope = chosen.scope) {
  const { flags } = chosen;
  let sum = mode === "only" ? 0 : chosen.count;
  if (mode === "only") flags.fill(0);
  for (let place = 0; place < items.length; place += 1) {  // there may be a hundred thousand
    const item = items[place], want = mode === "turn" ? 1 - flags[item] : mode === "drop" ? 0 : 1;
    sum += want - flags[item];
    flags[item] = want;
  }
  Object.assign(chosen, { count: sum, scope });
  drawSelection();
}

function clearSelection() {
  select([]);
  clearLasso();
}

function drawSelection() {
  const { count: n, scope } = chosen;
  $("actions").hidden = n === 0;
  document.body.classList.toggle("selecting", n > 0);
  $("actions-count").textContent = `${count(n)} of ${count(scope?.total ?? data.count)}`;
  $("actions-where").textContent = scope?.where ?? "selected";
  $("act-like").hidden = n !== 1;
  $("act-show").hidden = !scope?.map;
  if (shelfGrid && !$("view-shelf").hidden) shelfGrid.refresh();
  else for (const tile of document.querySelectorAll("button[data-item]")) tile.classList.toggle("chosen", isChosen(tile.dataset.item));
  review.selected?.();
}

// Tiles of cards: Ctrl or Shift selects, a plain click enlarges; while some are selected, a plain click selects more.
review.picked = (item, event) => {
  if (!(event.ctrlKey || event.metaKey || event.shiftKey || (chosen.count && !chosen.scope?.map))) return false;
  select([item], "turn", { total: data.count, where: "selected" });
  return true;
};

review.marked = (button, item) => {
  const status = table.status[item];
  button.dataset.status = STATUSES[status];
  button.classList.toggle("labeled", status === LABELED);
  button.classList.toggle("chosen", isChosen(item));
};

// The most likely categories of the first of some items, but the one they are in.
async function likelyFor(items) {
  await need(items.slice(0, 1));
  return data.rows[items[0]].top.map(([id]) => data.categories[id]?.into ?? id);
}

async function moveItems(items) {
  const own = [...new Set(items.slice(0, 2000).map(categoryOf))];
  const but = own.length === 1 && table.status[items[0]] !== IGNORED ? own : [];
  const answer = await choose({ title: `Move ${plural(items.length, "item", "items")} to …`, but, fresh: true,
    likely: await likelyFor(items) });
  if (!answer) return false;
  if (answer.id != null) await decide("move", { items, to: answer.id });
  else await createOf(items, answer.name);
  return true;
}

const createOf = (items, name = "") => decide("create", name ? { items, name } : { items });

// "Not this category", for each category that the items are in.
async function rejectItems(items) {
  const by = new Map();
  for (const item of items) {
    if (table.status[item] !== IGNORED) by.set(categoryOf(item), [...(by.get(categoryOf(item)) ?? []), item]);
  }
  for (const [category, some] of by) await decide("reject", { items: some, category });
}

const ACTS = {
  confirm: items => decide("confirm", { items: items.filter(item => table.status[item] !== IGNORED) }),
  move: moveItems,
  create: items => createOf(items),
  reject: rejectItems,
  ignore: items => decide("ignore", { items }),
};

async function act(name, items = picks(), after = clearSelection) {
  if (!items.length) return;
  if (name === "like") return void (location.hash = `#/like/${items[0]}`);
  if (name === "show") return void (location.hash = "#/chosen");
  if (await ACTS[name](items) !== false) after();
}

for (const button of document.querySelectorAll("[data-act]")) {
  button.addEventListener("click", () => act(button.dataset.act));
}
$("act-clear").addEventListener("click", clearSelection);

const ACT_KEYS = { y: "confirm", m: "move", c: "create", n: "reject", delete: "reject", i: "ignore", l: "like" };

addEventListener("keydown", event => {
  if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return undefined;
  if (event.key === "Escape" && chosen.count) return clearSelection();
  if (event.key === "Escape" && !$("view-shelf").hidden) return void (location.hash = "");
  if (event.key === "x" && event.target.matches("button[data-item]")) {  // on a tile of a card, as Ctrl + click
    return select([Number(event.target.dataset.item)], "turn", { total: data.count, where: "selected" });
  }
  const name = ACT_KEYS[event.key.toLowerCase()];
  if (!name || !chosen.count || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (name === "like" && chosen.count !== 1) return undefined;
  event.preventDefault();
  return act(name);
});
