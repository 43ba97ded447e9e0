// The map: items as points on a canvas, with zoom, a legend that hides groups, and colours by category or by true class.

const view = { scale: 1, x: 0, y: 0, colour: "category", hidden: new Set(), over: null };
const canvas = $("canvas"), brush = canvas.getContext("2d");
let reach = null;  // of the points, along each axis
const FINGERS = new Map();  // pointers that are down
let dragged = false;

// True classes take the colours of the categories that match them, so that agreement has the same colour in both views.
function truthColour(name) {
  const place = data.truth.indexOf(name), matched = data.confusion?.columns[place];
  return place < 0 ? "#8b93a1" : matched == null ? hue(data.categories.length + place) : colour(matched);
}

function groups() {
  if (view.colour === "category") {
    return living().sort((a, b) => b.new - a.new).map(({ id, name, new: isNew }) => ({ key: id, name, isNew, colour: colour(id) }));
  }
  return data.truth.map((name, place) => ({ key: name, name, isNew: place >= data.known, colour: truthColour(name) }));
}

function groupOf(item) {
  return view.colour === "category" ? categoryOf(item) : data.rows[item]?.truth;
}

function toScreen([x, y]) {
  const { width, height } = canvas.getBoundingClientRect();
  reach ??= [0, 1].map(axis => Math.max(1e-3, ...data.map.points.map(point => Math.abs(point[axis]))));
  const wide = (width / 2 - 22) / reach[0], tall = (height / 2 - 22) / reach[1], most = 1.7 * Math.min(wide, tall);
  // stretched to the stage, within limits: the axes of such a map have no meaning
  return [width / 2 + view.x + x * Math.min(wide, most) * view.scale,
    height / 2 + view.y - y * Math.min(tall, most) * view.scale];
}

function drawMap() {
  const { width, height } = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  if (width === 0 || !data.map) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  const tint = new Map(groups().map(group => [group.key, group.colour]));
  const crowd = data.map.items.length > 800 ? 3.5 : data.map.items.length > 200 ? 4 : 5.5;
  const radius = crowd * Math.min(2.2, Math.sqrt(view.scale));
  const alpha = data.map.items.length > 300 ? 0.82 : 0.95;
  let drawn = 0;
  data.map.items.forEach((item, place) => {
    if (view.hidden.has(groupOf(item)) || table.status?.[item] === 3) return;
    const [x, y] = toScreen(data.map.points[place]);
    if (x < -9 || y < -9 || x > width + 9 || y > height + 9) return;
    drawn += 1;
    brush.globalAlpha = review.alpha?.(item) ?? alpha;
    brush.beginPath();
    brush.arc(x, y, isLabeled(item) ? radius - 0.7 : radius, 0, 2 * Math.PI);
    const paint = tint.get(groupOf(item)) ?? "#8b93a1";
    if (isLabeled(item)) {
      brush.lineWidth = 1.5;
      brush.strokeStyle = paint;
      brush.stroke();
    } else {
      brush.fillStyle = paint;
      brush.fill();
    }
    review.overMap?.(place, x, y, radius);
  });
  brush.globalAlpha = 1;
  canvas.dataset.drawn = drawn;
  review.afterMap?.();
  if (view.over != null) {
    const [x, y] = toScreen(data.map.points[view.over]);
    brush.beginPath();
    brush.arc(x, y, radius + 4, 0, 2 * Math.PI);
    brush.lineWidth = 2.5;
    brush.strokeStyle = getComputedStyle(canvas).color;
    brush.stroke();
  }
}

function nearest(x, y) {
  let best = null, distance = 14;
  data.map.items.forEach((item, place) => {
    if (view.hidden.has(groupOf(item))) return;
    const [px, py] = toScreen(data.map.points[place]), away = Math.hypot(px - x, py - y);
    if (away < distance) [best, distance] = [place, away];
  });
  return best;
}

function zoom(factor, x, y) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = Math.max(1, Math.min(40, view.scale * factor)), ratio = scale / view.scale;
  const dx = (x ?? width / 2) - width / 2, dy = (y ?? height / 2) - height / 2;
  view.x = dx - (dx - view.x) * ratio;
  view.y = dy - (dy - view.y) * ratio;
  view.scale = scale;
  moved();
}

function pan(dx, dy) {
  view.x += dx;
  view.y += dy;
  moved();
}

function moved() {
  const { width, height } = canvas.getBoundingClientRect();  // the map never leaves the stage
  const most = size => size * (view.scale - 0.5) / 2;
  view.x = Math.max(-most(width), Math.min(most(width), view.x));
  view.y = Math.max(-most(height), Math.min(most(height), view.y));
  canvas.style.touchAction = view.scale > 1 ? "none" : "pan-y";
  hideTip();
  drawMap();
}

function resetMap() {
  Object.assign(view, { scale: 1, x: 0, y: 0 });
  moved();
}

function local(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

canvas.addEventListener("wheel", event => {
  if (!event.ctrlKey && !event.metaKey) return;  // a plain wheel scrolls the page
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 240), ...local(event));
}, { passive: false });

canvas.addEventListener("pointerdown", event => {
  FINGERS.set(event.pointerId, [event.clientX, event.clientY]);
  if (FINGERS.size === 1) dragged = false;
});

addEventListener("pointermove", event => {
  const before = FINGERS.get(event.pointerId);
  if (!before) return;
  const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
  if (!dragged && Math.hypot(dx, dy) < 4) return;
  dragged = true;
  const other = [...FINGERS].find(([id]) => id !== event.pointerId)?.[1];
  FINGERS.set(event.pointerId, [event.clientX, event.clientY]);
  if (!other) return pan(dx, dy);
  const spread = (x, y) => Math.max(20, Math.hypot(x - other[0], y - other[1]));
  const box = canvas.getBoundingClientRect();
  zoom(spread(event.clientX, event.clientY) / spread(...before),
    (event.clientX + other[0]) / 2 - box.left, (event.clientY + other[1]) / 2 - box.top);
});

for (const kind of ["pointerup", "pointercancel"]) {
  addEventListener(kind, event => FINGERS.delete(event.pointerId));
}

canvas.addEventListener("pointermove", event => {
  if (FINGERS.size) return;
  const over = nearest(...local(event));
  if (over !== view.over) {
    view.over = over;
    drawMap();
  }
  canvas.style.cursor = over == null ? "grab" : "pointer";
  if (over == null) hideTip();
  else showTip(data.map.items[over], event.clientX, event.clientY);
});

canvas.addEventListener("pointerleave", () => {
  view.over = null;
  hideTip();
  drawMap();
});

canvas.addEventListener("click", event => {
  const over = dragged ? null : nearest(...local(event));
  if (over != null) openViewer([data.map.items[over]], 0);
});

canvas.addEventListener("keydown", event => {
  const act = {
    "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": resetMap,
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

function showOnly(wanted) {
  view.hidden = new Set(groups().filter(group => !wanted(group)).map(group => group.key));
  drawLegend();
  drawMap();
}

function showOnMap(id) {
  setColour("category");
  showOnly(group => group.key === id);
  resetMap();
  $("map").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function setColour(by) {
  view.colour = by;
  view.hidden = new Set();
  drawSection();
}

function drawLegend() {
  const total = new Map();
  for (const item of data.map.items) total.set(groupOf(item), (total.get(groupOf(item)) ?? 0) + 1);
  $("legend").replaceChildren(...groups().map(group => make("li", {}, make("button", {
    type: "button", "aria-pressed": String(!view.hidden.has(group.key)), title: "Show or hide",
    onclick: event => {
      if (view.hidden.has(group.key)) view.hidden.delete(group.key);
      else view.hidden.add(group.key);
      event.currentTarget.setAttribute("aria-pressed", String(!view.hidden.has(group.key)));
      drawMap();
    },
  }, make("i", { class: "dot", style: `--dot: ${group.colour}` }), make("span", { class: "name" }, group.name),
  make("small", {}, count(total.get(group.key)))))));
}

function drawSection() {
  const { items, method } = data.map;
  reveal("map", items.length > 0);
  const whole = items.length === data.items ? `All ${plural(items.length, "item", "items")}`
    : `${count(items.length)} of ${count(data.items)} items, equally many of each category where it has enough`;
  $("map-sub").textContent = `${whole}, placed by ${method}: items that are close together look similar to the model.`;
  canvas.setAttribute("aria-label", `Map of ${count(items.length)} items. Arrow keys move it, plus and minus zoom, 0 resets.`);
  const choices = data.truth ? [["category", "By category"], ["truth", "By true class"]] : [];
  $("map-colour").replaceChildren(...choices.map(([by, text]) => make("button", {
    type: "button", "aria-pressed": String(view.colour === by), onclick: () => setColour(by),
  }, text)));
  drawLegend();
  drawMap();
}

$("zoom-in").addEventListener("click", () => zoom(1.5));
$("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
$("zoom-reset").addEventListener("click", resetMap);
$("legend-all").addEventListener("click", () => showOnly(() => true));
$("legend-new").addEventListener("click", () => showOnly(group => group.isNew));
$("legend-none").addEventListener("click", () => showOnly(() => false));
new ResizeObserver(drawMap).observe(canvas);
DARK.addEventListener("change", () => { if (data.map) draw(); });
