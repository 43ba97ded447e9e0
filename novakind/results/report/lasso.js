// The lasso on the map: draw around items to select them. It stays, and moves with the map, until Esc clears it.

const lasso = { on: false, drawing: false, points: [] };  // points in the map's own units

// The inverse of toScreen, by two of its points.
function toMap([x, y]) {
  const [x0, y0] = toScreen([0, 0]), [x1, y1] = toScreen([1, 1]);
  return [(x - x0) / (x1 - x0), (y - y0) / (y1 - y0)];
}

function isInside([x, y], shape) {
  let inside = false;
  for (let i = 0, j = shape.length - 1; i < shape.length; j = i, i += 1) {
    const [xi, yi] = shape[i], [xj, yj] = shape[j];
    if (yi > y !== yj > y && x < (xj - xi) * (y - yi) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

function lassoed() {
  return data.map.items.filter((item, place) => !view.hidden.has(groupOf(item)) && table.status[item] !== IGNORED &&
    isInside(data.map.points[place], lasso.points));
}

function setLasso(on) {
  lasso.on = on;
  $("lasso").setAttribute("aria-pressed", String(on));
  $("stage").classList.toggle("lassoing", on);
}

function clearLasso() {
  if (!lasso.points.length) return;
  lasso.points = [];
  drawMap();
}

const startsLasso = event => (lasso.on || event.shiftKey) && event.button === 0 && FINGERS.size === 0;

canvas.addEventListener("pointerdown", event => {
  if (!startsLasso(event)) return;
  event.stopImmediatePropagation();
  event.preventDefault();
  canvas.setPointerCapture(event.pointerId);
  Object.assign(lasso, { drawing: true, points: [toMap(local(event))] });
  dragged = true;  // the click that follows enlarges nothing
}, { capture: true });

canvas.addEventListener("pointermove", event => {
  if (!lasso.drawing) return;
  event.stopImmediatePropagation();
  lasso.points.push(toMap(local(event)));
  hideTip();
  drawMap();
}, { capture: true });

canvas.addEventListener("pointerup", event => {
  if (!lasso.drawing) return;
  lasso.drawing = false;
  if (lasso.points.length < 4) return clearSelection();
  const scope = { total: data.map.items.length, where: "on the map", map: true };
  return select(lassoed(), event.ctrlKey || event.metaKey ? "add" : "only", scope);
}, { capture: true });

// What is not selected steps back while something is.
review.alpha = item => chosen.count === 0 ? null : isChosen(item) ? 1 : 0.22;

// Over the points: the rings of selected and of confirmed items, and the lasso.
review.overMap = (place, x, y, radius) => {
  const item = data.map.items[place];
  if (isChosen(item)) {
    brush.beginPath();
    brush.arc(x, y, radius + 1.2, 0, 2 * Math.PI);
    brush.lineWidth = 1.6;
    brush.strokeStyle = review.ink;
    brush.stroke();
  } else if (table.status[item] === CONFIRMED) {
    brush.beginPath();
    brush.arc(x, y, radius * 0.4, 0, 2 * Math.PI);
    brush.fillStyle = review.ground;
    brush.fill();
  }
};

review.afterMap = () => {
  if (lasso.points.length < 2) return;
  brush.beginPath();
  lasso.points.forEach((point, place) => brush[place ? "lineTo" : "moveTo"](...toScreen(point)));
  brush.closePath();
  brush.lineWidth = 2;
  brush.setLineDash([6, 5]);
  brush.strokeStyle = review.accent;
  brush.fillStyle = review.accent;
  brush.stroke();
  brush.globalAlpha = 0.09;
  brush.fill();
  brush.globalAlpha = 1;
  brush.setLineDash([]);
};

review.selected = () => { if (data.map && $("map").getClientRects().length) drawMap(); };
$("lasso").addEventListener("click", () => setLasso(!lasso.on));
