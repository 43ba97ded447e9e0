// Labeled items that the model most disbelieves: a wrong label is a common truth.

const doubts = { list: [], shown: 6, kept: new Set() };

async function loadDoubts() {
  doubts.list = await askJson("disbelieved?limit=100");
  await need(doubts.list.slice(0, doubts.shown + 12).map(({ item }) => item));
  drawDoubts();
}

function doubt({ item, label, category, probability }) {
  const given = withName(label) ?? data.categories[categoryOf(item)];
  const settle = async (verb, details, event) => {
    doubts.kept.add(item);
    event.currentTarget.closest("li").classList.add("leaving");
    await decide(verb, details);
    drawDoubts();
  };
  const button = (words, kind, verb, details) => make("button", { type: "button", class: kind,
    onclick: event => settle(verb, details, event) }, words);
  return make("li", { class: "panel doubt" }, tile([item], 0),
    make("div", { class: "doubt-text" },
      make("p", {}, "labeled ", swatch(given.id), make("b", {}, label)),
      make("p", {}, "the model says ", swatch(category), make("b", {}, nameOf(category)), ` ${percent(probability)}`),
      make("code", {}, data.rows[item].path),
      make("div", { class: "doubt-buttons" },
        button(`It is ${label}`, "second", "confirm", { items: [item] }),
        button(`It is ${nameOf(category)}`, "second", "move", { items: [item], to: category }),
        button("Ignore", "second", "ignore", { items: [item] }))));
}

function drawDoubts() {
  const open = doubts.list.filter(({ item }) => !doubts.kept.has(item) && table.status[item] === LABELED && data.rows[item]);
  const labeled = table.status.some(status => status === LABELED);
  reveal("labels", labeled);
  $("labels-list").replaceChildren(...open.slice(0, doubts.shown).map(doubt));
  $("labels-none").hidden = open.length > 0;
  $("labels-more").hidden = open.length <= doubts.shown;
  drawSteps();
}

$("labels-more").addEventListener("click", () => { doubts.shown += 12; loadDoubts(); });
