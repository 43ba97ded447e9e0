// The review: state from the server into the page's data, the views behind the address, and what the page adds to the report.

const state = { version: -1, undo: null, redo: null, ignored: 0, left: 0 };
const fresh = { running: null, again: false, place: 0 };
const drawnCards = new Map();  // category -> [signature, element]

review.about = "Type a name and press Enter: the next category follows. Open a category to see all its items; the doubtful ones are " +
  "the most likely to be wrong.";

async function readState(run = null) {
  const [{ categories, ...rest }, answer] = await Promise.all([askJson("state"), ask("table")]);
  if (answer.headers.get("ETag") !== `"${rest.version}"`) return readState(run);  // somebody has decided in between
  takeTable(await answer.arrayBuffer());
  Object.assign(state, rest);
  data.categories = [];
  for (const one of categories) data.categories[one.id] = one;
  data.categories = Array.from(data.categories, (one, id) => one ?? { id, name: "", alive: false, new: true, size: 0, typical: [], doubtful: [] });
  await run;  // what is seen of an item depends on its kind
  const shown = living().flatMap(({ typical, doubtful, cover: first }) => [...typical, ...doubtful, ...(first == null ? [] : [first])]);
  return need(shown);
}

// Everything anew after a change; changes that come meanwhile are taken together.
function refresh() {
  if (fresh.running) {
    fresh.again = true;
    return fresh.running;
  }
  fresh.running = (async () => {
    do {
      fresh.again = false;
      await readState();
      redraw();
      if (!fresh.again && !post.waiting) await loadSuggestions();  // what comes next would make them old
    } while (fresh.again);
  })().catch(error => { if (error.status) notify(error.message, "bad"); }).finally(() => { fresh.running = null; });
  return fresh.running;
}

// Suggestions cost the server more than the rest: they wait until they can be seen.
async function loadSuggestions() {
  if (VIEWS[location.hash.split("/")[1]] || fresh.suggested === state.version) return;
  fresh.suggested = state.version;
  await Promise.all([loadMerges(), loadDoubts()]);
  if (!queue.list.length && !queue.asking) await loadQueue();  // it is there at once, when somebody opens it
}

function redraw() {
  const top = scrollY;
  keepFocus(() => {
    drawHeader();
    drawCards();
  });
  drawSection();
  drawReview();
  drawLinks();
  if (!$("view-shelf").hidden) drawShelf();
  if (!$("view-queue").hidden) drawQueue();
  if (location.hash.startsWith("#/")) return;
  scrollTo({ top, behavior: "instant" });
}

function drawReview() {
  const style = getComputedStyle(document.body);
  review.ground = style.getPropertyValue("--surface");
  review.ink = style.getPropertyValue("--ink");
  review.accent = style.getPropertyValue("--accent");
  $("eyebrow").textContent = "Review";
  $("ignored-link").hidden = !state.ignored;
  $("ignored-link").textContent = `${count(state.ignored)} ignored`;
  drawHistory();
  drawSteps();
  drawSelection();
}

// What is left to do, as the way into each part.
function drawSteps() {
  const found = living().filter(one => one.new && one.size > 0), unnamed = found.filter(one => !one.named);
  const pairs = merges.list.filter(({ categories }) => categories.every(id => data.categories[id]?.alive)).length;
  const sure = found.reduce((sum, one) => sum + (one.confirmed ?? 0), 0);
  const steps = [
    ["#new", "Name", unnamed.length ? `${plural(unnamed.length, "category has", "categories have")} no name yet` : "all categories are named", !unnamed.length],
    ["#merges", "Merge", pairs ? "pairs that may be one, ranked" : "no pairs are left", !pairs],
    ["#/queue", "Decide", state.left ? `${count(state.left)} in the queue, ranked` : "nothing left to decide", !state.left],
    ["#map", "Look around", "the map with a lasso", false],
  ];
  $("steps").replaceChildren(...steps.map(([href, title, words, done]) => make("a", { href, class: done ? "step done" : "step" },
    make("b", {}, title), make("span", {}, words))));
  const total = data.count - table.status.reduce((sum, one) => sum + (one === LABELED || one === IGNORED), 0);
  const confirmed = table.status.reduce((sum, one) => sum + (one === CONFIRMED), 0);
  $("progress-words").textContent = `${count(confirmed)} of ${plural(total, "item", "items")} confirmed`;
  $("progress-bar").style.width = `${total ? 100 * confirmed / total : 0}%`;
  $("progress-bar").dataset.sure = sure;
}

// A card stays as it is while its category does: pictures do not flicker, and nothing typed is lost.
review.card = category => {
  const { majority, purity, ...now } = category;
  const status = [...category.typical, ...category.doubtful].map(item => table.status[item]).join("");
  const signature = JSON.stringify([now, status, DARK.matches]);
  const before = drawnCards.get(category.id);
  if (before?.[0] === signature) return before[1];
  const element = card({ ...category, majority: null });
  drawnCards.set(category.id, [signature, element]);
  return element;
};

function redrawCard(id) {
  drawnCards.delete(id);
  keepFocus(drawCards);
}

review.numbers = ({ size, confirmed, named, new: isNew }) => [
  confirmed > 0 && make("span", { class: "sure" }, make("b", {}, count(confirmed)), " confirmed"),
  size - (confirmed ?? 0) > 0 && isNew && confirmed > 0 && make("span", {}, make("b", {}, count(size - confirmed)), " suggested"),
  isNew && !named && make("span", { class: "tag" }, "no name yet"),
];

review.actions = ({ id, name, size, labeled }) => make("div", { class: "card-actions" },
  make("a", { class: "quiet strong", href: `#/category/${id}`, "aria-label": `Open ${name}` }, `Open ${count(size + (labeled ?? 0))}`),
  make("details", { class: "menu" }, make("summary", { class: "quiet", "aria-label": `More for ${name}` }, "⋯"),
    make("ul", {}, [
      ["Confirm all", () => decide("confirm", { category: id })],
      ["Split …", () => { location.hash = `#/split/${id}`; }],
      ["Merge with …", () => mergeWith(id)],
      ["On the map", () => showOnMap(id)],
    ].map(([words, action]) => make("li", {}, make("button", { type: "button", onclick: event => {
      event.currentTarget.closest("details").open = false;
      action();
    } }, words))))));

// The viewer of one item, with what can be done to it.
review.viewed = item => {
  const done = () => { if (viewer.list.length > 1) step(1); else $("viewer").close(); };
  const words = [["confirm", "Confirm"], ["reject", `Not ${nameOf(categoryOf(item))}`], ["move", "Move …"], ["ignore", "Ignore"], ["like", "All like this"]];
  $("viewer-actions").replaceChildren(...words.map(([name, text]) => make("button", { type: "button", class: "second", "data-viewer": name,
    onclick: async () => {
      if (name === "like") $("viewer").close();
      await act(name, [item], done);
    } }, text)));
};

const VIEWS = { category: "shelf", like: "shelf", ignored: "shelf", chosen: "shelf", queue: "queue", split: "split" };

async function route() {
  const [, kind, number] = location.hash.match(/^#\/(\w+)(?:\/(\d+))?$/) ?? [], shown = VIEWS[kind];
  const was = !$("overview").hidden;
  if (was && shown) fresh.place = scrollY;
  if (shown !== "shelf" && (shown || !$("view-shelf").hidden)) clearSelection();  // its keys are those of the queue too
  for (const part of [$("top"), $("main"), document.querySelector("footer")]) part.hidden = Boolean(shown);
  $("overview").hidden = Boolean(shown);
  for (const name of ["shelf", "queue", "split"]) $(`view-${name}`).hidden = shown !== name;
  document.body.classList.toggle("viewing", Boolean(shown));
  if (!shown) {
    if (!was) {
      drawMap();
      scrollTo({ top: location.hash ? scrollY : fresh.place, behavior: "instant" });
      if (location.hash.length > 1) document.querySelector(location.hash)?.scrollIntoView();
      loadSuggestions();
      if (fresh.focus) document.querySelector(`[data-keep="${fresh.focus}"]`)?.focus();
      fresh.focus = null;
    }
    return;
  }
  scrollTo({ top: 0, behavior: "instant" });
  if (shown === "shelf") await openShelf(kind, number == null ? null : Number(number));
  if (shown === "queue") await openQueue();
  if (shown === "split") await openSplit(Number(number));
}

async function readRun() {
  Object.assign(data, await askJson("run"));
  data.bare = new Set();
  for (const part of ["signals", "texts", "clips"]) if (data[part]) data[part].items ??= {};
  data.pictures = addressesOfPictures();
  chosen.flags = new Uint8Array(data.count);
}

review.begin = async () => {
  data.rows = {};
  const run = readRun();
  document.querySelector(".bar .wrap").append($("tools"));
  $("top").append($("steps-box"));
  $("new").after($("merges"));
  $("known").after($("labels"));
  $("stage").querySelector(".zoom").before($("lasso"));
  $("viewer-bars").after($("viewer-actions"));
  document.querySelector(".map .key .hint").before($("key-sure"));
  for (const [id, link] of [["new", "Categories"], ["known", "Known"], ["confusion", null], ["settings", null]]) {
    if (link) $(id).dataset.link = link;
    else delete $(id).dataset.link;
  }
  await Promise.all([run, readState(run)]);
};

review.drawn = () => {
  drawReview();
  addEventListener("hashchange", route);
  route();
  listen();
  loadSuggestions();
  watchRound();
  need(data.map.items).then(drawMap);
  review.drawn = drawReview;
};
