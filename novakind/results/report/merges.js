// Which categories may be one: ranked, each with examples of both sides, the reason in numbers and the direction.

const merges = { list: [], shown: 4, known: false };

async function loadMerges() {
  if (!merges.known) {  // the first time the data have to be read
    reveal("merges", data.categories.some(one => one.new));
    $("merges-none").textContent = "Looking for pairs …";
    $("merges-none").hidden = false;
  }
  merges.list = await askJson("merges?limit=20");
  merges.known = true;
  $("merges-none").textContent = "No two categories look like one.";
  await need(merges.list.slice(0, merges.shown).flatMap(one => one.examples.flat()));
  drawMerges();
}

function suggestion({ categories, into, shared, closeness, reason, examples }, place) {
  const from = categories.find(id => id !== into);
  const side = id => {
    const list = examples[categories.indexOf(id)].filter(item => data.rows[item]);
    return make("div", { class: "pair-side" },
      make("h4", {}, swatch(id), make("span", {}, nameOf(id)), make("small", {}, plural(sizeOf(id), "item", "items"))),
      make("div", { class: "items" }, list.slice(0, 6).map((_, k) => tile(list, k))));
  };
  const answer = async (verb, details, event) => {
    event.currentTarget.closest("li").classList.add("leaving");
    await decide(verb, details);
  };
  return make("li", { class: "panel pair", "data-pair": categories.join("-") },
    make("div", { class: "pair-sides" }, side(from), make("span", { class: "arrow", role: "img", "aria-label": "goes into" }, "→"), side(into)),
    make("div", { class: "pair-foot" },
      make("p", { class: "reason", "data-shared": shared, "data-closeness": closeness }, reason),
      make("div", { class: "pair-buttons" },
        make("button", { type: "button", class: "second", "data-keep": `differ-${place}`,
          onclick: event => answer("different", { categories }, event) }, "These are different"),
        make("button", { type: "button", class: "first", "data-keep": `merge-${place}`,
          "aria-label": `Merge ${nameOf(from)} into ${nameOf(into)}`,
          onclick: event => answer("merge", { into, categories: [from] }, event) }, `Merge into ${nameOf(into)}`))));
}

function drawMerges() {
  const alive = merges.list.filter(({ categories }) => categories.every(id => data.categories[id]?.alive));
  reveal("merges", data.categories.some(one => one.new));
  const shown = alive.slice(0, merges.shown);
  keepFocus(() => $("merges-list").replaceChildren(...shown.map(suggestion)));
  $("merges-none").hidden = alive.length > 0;
  $("merges-more").hidden = alive.length <= merges.shown;
  $("merges-more").textContent = `Show ${alive.length - merges.shown} more`;
  drawSteps();
}

$("merges-more").addEventListener("click", () => { merges.shown = 20; loadMerges(); });
