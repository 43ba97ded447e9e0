// The queue: the decisions that help most, one at a time, by keys. It is asked for anew after every few answers, since
// each says something about the others.

const FRESH = 10;  // answers after which the rest of the queue is out of date
const queue = { list: [], place: 0, total: 0, left: 0, asking: false, stale: 0, answered: new Map(), box: null };

async function openQueue() {
  queue.answered.clear();
  if (!queue.list.length) {
    for (const part of ["body", "none"]) $(`queue-${part}`).hidden = true;
    $("queue-progress").textContent = "Looking for the decisions that help most …";
    $("queue-meter").style.width = 0;
  }
  await loadQueue();
  $("view-queue").focus({ preventScroll: true });
}

async function loadQueue() {
  queue.asking = true;
  queue.stale = 0;
  try {
    await post.last;  // what was answered so far counts
    const { entries, left, total } = await askJson("queue?limit=50");
    const fresh = entries.filter(({ item }) => !queue.answered.has(item));
    const kept = queue.list.slice(0, queue.place + 1).filter(({ item }) => queue.answered.has(item) || item === queue.list[queue.place]?.item);
    const known = new Set(kept.map(({ item }) => item));
    queue.list = [...kept, ...fresh.filter(({ item }) => !known.has(item))];
    queue.place = Math.min(Math.max(0, kept.length && queue.answered.has(kept.at(-1).item) ? kept.length : kept.length - 1), queue.list.length);
    Object.assign(queue, { left, total });
    await need(queue.list.slice(queue.place, queue.place + 20).map(({ item }) => item));
  } finally {
    queue.asking = false;
  }
  drawQueue();
}

const alternatives = ({ item, others }) => others.filter(([id]) => data.categories[id]?.alive && id !== categoryOf(item)).slice(0, 9);

function drawQueue() {
  const entry = queue.list[queue.place], done = Math.max(0, queue.total - queue.left);
  $("queue-progress").textContent = `${count(done)} of ${count(queue.total)}`;
  $("queue-left").textContent = queue.left ? `${count(queue.left)} left` : "nothing left";
  $("queue-meter").style.width = `${queue.total ? 100 * done / queue.total : 100}%`;
  $("queue-body").hidden = !entry;
  $("queue-none").hidden = Boolean(entry);
  if (!entry || !data.rows[entry.item]) return;
  const { item } = entry, category = categoryOf(item), said = queue.answered.get(item), row = data.rows[item];
  const shown = data.signals?.items[item] ? largeSignal(item) : data.clips?.items[item] ? largeClip(item)
    : textOf(item) ? quote(item, "whole-text") : picture(item, row.path, true);
  $("queue-picture").replaceChildren(shown);
  $("queue-path").textContent = row.path;
  $("queue-question").replaceChildren("Is this ", swatch(category), make("b", {}, nameOf(category)), "?");
  $("queue-why").textContent = entry.why ?? "";
  $("queue-said").hidden = !said;
  $("queue-said").textContent = said ?? "";
  const like = data.categories[category].typical.filter(one => data.rows[one] && one !== item).slice(0, 6);
  $("queue-like").replaceChildren(...like.map((_, place) => tile(like, place)));
  $("queue-like-title").textContent = `Typical of ${nameOf(category)}`;
  $("queue-yes-percent").textContent = percent(table.probability[item]);
  $("queue-others").replaceChildren(...alternatives(entry).map(([id, p], place) => make("li", {}, make("button", {
    type: "button", onclick: () => answer(place + 1),
  }, make("kbd", {}, place + 1), cover(id), make("span", { class: "name" }, nameOf(id)), make("small", {}, percent(p))))));
}

async function answer(what) {
  const entry = queue.list[queue.place];
  if (!entry) return;
  const { item } = entry, category = categoryOf(item), to = alternatives(entry)[what - 1]?.[0];
  if (typeof what === "number" && to == null) return;
  let sent, words;
  if (what === "yes") [sent, words] = [decide("confirm", { items: [item] }), `You said: ${nameOf(category)}.`];
  else if (what === "no") [sent, words] = [decide("reject", { items: [item], category }), `You said: not ${nameOf(category)}.`];
  else if (what === "ignore") [sent, words] = [decide("ignore", { items: [item] }), "You ignored it."];
  else if (what === "move") {
    const before = post.waiting;
    if (!await moveItems([item])) return;
    [sent, words] = [Promise.resolve(before), "You moved it."];
  } else [sent, words] = [decide("move", { items: [item], to }), `You said: ${nameOf(to)}.`];
  queue.answered.set(item, words);
  queue.left = Math.max(0, queue.left - (what === "no" ? 0 : 1));
  queue.stale += 1;
  advance(1);
  await sent;
}

function advance(by) {
  queue.place = Math.max(0, Math.min(queue.list.length, queue.place + by));
  drawQueue();
  const short = queue.list.length - queue.place < 8 && queue.left > queue.list.length - queue.place;
  if ((short || queue.stale >= FRESH) && !queue.asking) loadQueue();
}

// Space plays a clip again, or holds it.
function playNow() {
  $("queue-picture").querySelector(".screen:enabled")?.click();
}

const QUEUE_KEYS = {
  y: () => answer("yes"), n: () => answer("no"), i: () => answer("ignore"), m: () => answer("move"),
  arrowright: () => advance(1), arrowleft: () => advance(-1), " ": playNow,
  l: () => { location.hash = `#/like/${queue.list[queue.place].item}`; },
  escape: () => { location.hash = ""; },
};

addEventListener("keydown", event => {
  if (event.defaultPrevented || $("view-queue").hidden || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase(), number = /^[1-9]$/.test(key) ? Number(key) : 0;
  if (key === " " && event.target.closest("button")) return;
  if (!number && !QUEUE_KEYS[key]) return;
  event.preventDefault();
  if (number) answer(number);
  else if (queue.list[queue.place] || key === "escape" || key === "arrowleft") QUEUE_KEYS[key]();
});
for (const button of document.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));
$("queue-back").addEventListener("click", () => advance(-1));
$("queue-skip").addEventListener("click", () => advance(1));
