// The rubber band of a grid.

// Dragging with a mouse selects all tiles that the band touches; with Ctrl or Shift they join those already selected.
function rubberBand(scroller, sheet, band, grid, total) {
  let start = null, kept = [], last = null, timer = 0;
  const spot = event => {
    const box = sheet.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const stretch = () => {
    const [x, y] = spot(last), { columns, wide, tall } = grid.size;
    const [left, right] = [start[0], x].sort((a, b) => a - b), [top, bottom] = [start[1], y].sort((a, b) => a - b);
    band.style.cssText = `left: ${left}px; top: ${top}px; width: ${right - left}px; height: ${bottom - top}px`;
    const from = Math.max(0, Math.ceil((left - wide) / (wide + GAP))), to = Math.min(columns - 1, Math.floor(right / (wide + GAP)));
    const first = Math.max(0, Math.ceil((top - tall) / (tall + GAP))), end = Math.floor(bottom / (tall + GAP)), inside = [];
    for (let row = first; row <= end && row * columns < grid.items.length; row += 1) {
      for (let column = from; column <= to; column += 1) {
        const item = grid.items[row * columns + column];
        if (item != null) inside.push(item);
      }
    }
    select(kept.length ? [...kept, ...inside] : inside, "only", total());
  };
  const drift = () => {  // the grid follows a band that leaves it
    const box = scroller.getBoundingClientRect();
    const by = last.clientY < box.top + 24 ? -18 : last.clientY > box.bottom - 24 ? 18 : 0;
    if (by) {
      scroller.scrollTop += by;
      stretch();
    }
  };
  scroller.addEventListener("pointerdown", event => {
    const box = scroller.getBoundingClientRect();
    if (event.pointerType !== "mouse" || event.button || event.clientX > box.left + scroller.clientWidth) return;
    start = spot(event);
    kept = event.ctrlKey || event.metaKey || event.shiftKey ? picks() : [];
    grid.banded = false;
  });
  addEventListener("pointermove", event => {
    if (!start) return;
    last = event;
    const [x, y] = spot(event);
    if (!grid.banding && Math.hypot(x - start[0], y - start[1]) < 6) return;
    if (!grid.banding) {
      grid.banding = grid.banded = true;
      band.hidden = false;
      hideTip();
      timer = setInterval(drift, 40);
    }
    stretch();
  });
  addEventListener("pointerup", () => {
    clearInterval(timer);
    band.hidden = true;
    grid.banding = false;
    start = null;
  });
  sheet.addEventListener("dragstart", event => event.preventDefault());
}
