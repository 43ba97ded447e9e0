// Choosing a category by typing a part of its name; and the offer of a merge, which shows what goes into what.

const choice = { list: [], place: 0, many: false, marked: new Set(), done: null };

const settled = category => !category.new || category.named;  // has a name that means something
const plain = text => text.normalize("NFKC").trim().toLowerCase();
const withName = (text, but = null) => living().find(one => one.id !== but && plain(one.name) === plain(text));

function cover(id, kind = "cover") {
  const item = data.categories[id].cover ?? data.categories[id].typical[0];
  const shown = item != null && data.rows[item] ? (textOf(item) ? quote(item, "said") : picture(item, "")) : null;
  return make("span", { class: kind, style: `--dot: ${colour(id)}`, "aria-hidden": "true" }, shown);
}

// Resolves with {id}, {name} of a category to be made, {ids} of several, or null.
function choose({ title, but = [], likely = [], fresh = false, many = false }) {
  Object.assign(choice, { but: new Set(but), likely, fresh, many, place: 0, marked: new Set() });
  $("choice-title").textContent = title;
  $("choice-text").value = "";
  $("choice-accept").hidden = !many;
  $("choice-hint").textContent = many ? "Enter marks, Ctrl + Enter accepts" : "↑ ↓ and Enter";
  drawChoice();
  $("choice").showModal();
  $("choice-text").focus();
  return new Promise(resolve => { choice.done = resolve; });
}

function found() {
  const text = plain($("choice-text").value), { but, likely } = choice;
  const rank = one => (likely.includes(one.id) ? likely.indexOf(one.id) : 1e6 + (one.new ? 0 : 1));
  const fits = living().filter(one => !but.has(one.id) && plain(one.name).includes(text));
  const starts = one => text && plain(one.name).startsWith(text) ? 0 : 1;
  fits.sort((a, b) => starts(a) - starts(b) || rank(a) - rank(b) || a.id - b.id);
  const list = fits.slice(0, 60).map(one => ({ id: one.id }));
  if (choice.fresh && !withName(text)) list.push({ name: $("choice-text").value.trim() });
  return list;
}

function drawChoice() {
  choice.list = found();
  choice.place = Math.max(0, Math.min(choice.place, choice.list.length - 1));
  $("choice-list").replaceChildren(...choice.list.map((one, place) => make("li", {
    role: "option", id: `choice-${place}`, "aria-selected": String(place === choice.place),
    class: choice.marked.has(one.id) ? "marked" : "",
    onclick: () => { choice.place = place; take(); },
  }, one.id == null
    ? [make("span", { class: "cover plus", "aria-hidden": "true" }, "+"),
      make("span", { class: "name" }, one.name ? `New category “${one.name}”` : "New category")]
    : [cover(one.id), make("span", { class: "name" }, nameOf(one.id)),
      make("small", {}, choice.marked.has(one.id) ? "✓ marked" : plural(sizeOf(one.id), "item", "items"))])));
  if (!choice.list.length) $("choice-list").append(make("li", { class: "none" }, "No category has such a name."));
  $("choice-text").setAttribute("aria-activedescendant", choice.list.length ? `choice-${choice.place}` : "");
  $(`choice-${choice.place}`)?.scrollIntoView({ block: "nearest" });
}

const sizeOf = id => data.categories[id].size + (data.categories[id].labeled ?? 0);

function take() {
  const one = choice.list[choice.place];
  if (!one) return;
  if (!choice.many) return finish(one);
  if (choice.marked.has(one.id)) choice.marked.delete(one.id);
  else choice.marked.add(one.id);
  drawChoice();
}

function finish(answer) {
  const { done } = choice;
  choice.done = null;
  $("choice").close();
  done?.(answer);
}

const finishMany = () => finish(choice.marked.size ? { ids: [...choice.marked] } : choice.list[choice.place]?.id != null
  ? { ids: [choice.list[choice.place].id] } : null);

$("choice-text").addEventListener("input", () => { choice.place = 0; drawChoice(); });
$("choice-text").addEventListener("keydown", event => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) {
    choice.place = (choice.place + by + choice.list.length) % Math.max(1, choice.list.length);
    drawChoice();
  } else if (event.key === "Enter") {
    if (choice.many && (event.ctrlKey || event.metaKey)) finishMany();
    else take();
  } else return;
  event.preventDefault();
});
$("choice-accept").addEventListener("click", finishMany);
$("choice").addEventListener("close", () => { choice.done?.(null); choice.done = null; });
$("choice").addEventListener("click", event => { if (event.target === $("choice")) $("choice").close(); });

// Which of some categories keeps its name: a known class, a named one, the largest.
function direction(ids) {
  const rank = id => [data.categories[id].new ? 1 : 0, data.categories[id].named ? 0 : 1, -sizeOf(id), id];
  return [...ids].sort((a, b) => rank(a).map((value, k) => value - rank(b)[k]).find(Boolean) ?? 0)[0];
}

// Shows what a merge would do, and does it if it is wanted. Resolves with whether it was.
function offerMerge(ids, into = direction(ids)) {
  const dialog = $("merge"), free = ids.filter(id => settled(data.categories[id]));
  return new Promise(resolve => {
    let wanted = false;
    const drawOffer = () => {
      const others = ids.filter(id => id !== into), gone = others.map(nameOf).join(", ");
      const side = id => make("div", { class: "side" }, cover(id, "cover big"), make("b", {}, swatch(id), nameOf(id)),
        make("small", {}, plural(sizeOf(id), "item", "items")));
      $("merge-sides").replaceChildren(make("div", { class: "from" }, others.map(side)),
        make("span", { class: "arrow", "aria-label": "goes into" }, "→"), side(into));
      $("merge-words").textContent = `${gone} ${others.length === 1 ? "disappears" : "disappear"} into ${nameOf(into)}, ` +
        `which keeps its name and its cover and has ${plural(ids.reduce((sum, id) => sum + sizeOf(id), 0), "item", "items")} then.`;
      $("merge-turn").hidden = free.length === 1 || ids.length !== 2;
    };
    $("merge-turn").onclick = () => { into = ids.find(id => id !== into); drawOffer(); };
    $("merge-accept").onclick = () => { wanted = true; dialog.close(); };
    $("merge-cancel").onclick = () => dialog.close();
    dialog.onclose = () => {
      if (wanted) decide("merge", { into, categories: ids.filter(id => id !== into) });
      resolve(wanted);
    };
    drawOffer();
    dialog.showModal();
    $("merge-accept").focus();
  });
}

async function mergeWith(id) {
  const answer = await choose({ title: `Merge ${nameOf(id)} with …`, but: [id], many: true });
  if (answer?.ids) await offerMerge([id, ...answer.ids]);
}
