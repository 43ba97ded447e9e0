// The categories as cards: name, size, confidence, the most typical items and the most doubtful ones.

function tile(list, place) {
  const item = list[place], row = data.rows[item], signal = data.signals?.items[item];
  const shown = signal || data.pictures[item] || textOf(item);
  const mark = signal && gainMark(item, largest(data.signals.categories[row.category]?.scales));
  const marks = row.label ? `item labeled${row.label === nameOf(row.category) ? "" : " other"}` : "item";
  const button = make("button", {
    type: "button", class: shown ? marks : `${marks} bare`, "data-item": item, "aria-label": describe(item),
    onclick: event => { if (!review.picked?.(item, event)) openViewer(list, place); },
    onpointermove: event => { if (event.pointerType === "mouse") showTip(item, event.clientX, event.clientY); },
    onpointerleave: hideTip,
  }, textOf(item) ? quote(item, "said") : picture(item, ""), mark, shown ? null : make("span", {}, fileOf(row.path)));
  review.marked?.(button, item);
  return data.clips?.items[item] ? enliven(button, item) : button;
}

function strip(title, list, kind) {
  if (list.length === 0) return null;
  return make("div", { class: `strip ${kind}` }, make("h4", {}, title),
    make("div", { class: "items" }, list.map((_, place) => tile(list, place))));
}

function card(category) {
  const { id, name, size, labeled, confidence, typical, doubtful, majority, purity } = category;
  const unit = !category.new ? " unlabeled" : size === 1 ? " item" : " items";
  const numbers = [make("span", {}, make("b", {}, count(size)), unit)];
  if (labeled) numbers.push(make("span", {}, make("b", {}, count(labeled)), " labeled"));
  if (majority) numbers.push(make("span", { title: "The most frequent true class of its items, and that class's share" },
    "majority class ", make("b", {}, majority), ` · purity ${percent(purity)}`));
  const onMap = make("button", { type: "button", class: "quiet", onclick: () => showOnMap(id) }, "On the map");
  return make("article", { class: "card", "data-category": id, style: `--dot: ${colour(id)}` },
    make("header", {},
      make("h3", {}, swatch(id), review.name?.(category) ?? make("span", { class: "name" }, name)),
      review.actions?.(category) ?? (typical.length > 0 && onMap)),
    make("p", { class: "numbers" }, numbers, review.numbers?.(category)),
    confidence == null
      ? make("p", { class: "empty" }, "No item was assigned to this category.")
      : make("div", { class: "confidence" },
        make("span", {}, "confidence"),
        make("span", { class: "meter", role: "img", "aria-label": `mean confidence ${percent(confidence)}`,
          title: "How probable the model finds this category, averaged over its items" },
          make("i", { style: `width: ${100 * confidence}%; background: ${colour(id)}` })),
        make("b", {}, percent(confidence))),
    typicalSignal(category),
    tellingWords(category),
    strip("Most typical", typical, "typical"),
    strip("Most doubtful", doubtful, "doubtful"));
}

// These children in this order; nothing moves that is in its place already.
function arrange(parent, children) {
  const same = parent.children.length === children.length && children.every((child, place) => parent.children[place] === child);
  if (!same) parent.replaceChildren(...children);
}

function drawCards() {
  document.body.classList.toggle("signals", data.signals != null);
  document.body.classList.toggle("clips", data.clips != null);
  document.body.classList.toggle("texts", data.texts != null);
  document.body.style.setProperty("--panels", data.signals?.panels.length ?? 1);
  const about = "What the run found among the unlabeled items. Confidence is how sure the model is, not how often it is " +
    "right. ";
  $("new-sub").textContent = review.about ?? about + (data.signals
    ? "Click a signal to enlarge it. Where the band is wide and the mean is flat, the items are not aligned in time."
    : data.clips ? `Point at a clip to ${CALM.matches ? "see its frames" : "play it"}, click it to enlarge it.`
      : data.texts ? "The words below it set a category apart from the others. Click a text to read it."
        : "Click a picture to enlarge it.");
  const by = { id: one => one.id, size: one => -one.size, confidence: one => -(one.confidence ?? -1) }[$("sort").value];
  const sorted = living().sort((a, b) => by(a) - by(b) || a.id - b.id);
  for (const [section, isNew] of [["new", true], ["known", false]]) {
    const chosen = (isNew ? sorted : living()).filter(category => category.new === isNew);
    reveal(section, chosen.length > 0);
    arrange($(`${section}-cards`), chosen.map(category => review.card?.(category) ?? card(category)));
  }
}

$("sort").addEventListener("change", drawCards);
