// One item: the tip that follows the pointer, and the viewer that shows it large with the others of a list.

// The tip that follows the pointer, on the cards and on the map.
function showTip(item, x, y) {
  if (!data.rows[item]) return;
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
      make("strong", {}, swatch(row.category), nameOf(row.category), make("span", {}, sureness(item))),
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
  if (list.some(item => !data.rows[item])) return void need(list).then(() => openViewer(list, place));
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
      : textOf(item) ? quote(item, "whole-text") : picture(item, row.path, true));
  if (focused) (frame.querySelector("button:enabled") ?? $("viewer-close")).focus();  // or the arrow keys would be lost
  $("viewer-place").textContent = viewer.list.length > 1 ? `${viewer.place + 1} of ${viewer.list.length}` : "";
  $("viewer-back").hidden = $("viewer-next").hidden = viewer.list.length < 2;
  $("viewer-title").textContent = fileOf(row.path);
  const facts = [["Path", row.path], ["Category", `${nameOf(row.category)}, ${sureness(item)}`], ["Given label", row.label || "none"],
    ["Split", row.split], ["True class", row.truth]];
  $("viewer-facts").replaceChildren(...facts.filter(([, value]) => value)
    .flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  $("viewer-bars").replaceChildren(...row.top.map(([id, p]) =>
    make("li", {}, make("span", {}, swatch(id), nameOf(id)), make("b", {}, percent(p, 1)),
      make("span", { class: "meter" }, make("i", { style: `width: ${100 * p}%; background: ${colour(id)}` })))));
  review.viewed?.(item);
}

$("viewer-back").addEventListener("click", () => step(-1));
$("viewer-next").addEventListener("click", () => step(1));
$("viewer-close").addEventListener("click", () => $("viewer").close());
$("viewer").addEventListener("click", event => { if (event.target === $("viewer")) $("viewer").close(); });
$("viewer").addEventListener("keydown", event => {
  if (event.target.matches("input")) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
addEventListener("scroll", hideTip, { passive: true });
