// A grid of any number of items, of which only those in sight are drawn. Click, Ctrl, Shift, the arrow keys and a
// rubber band select; Enter or a double click enlarges.

const GAP = 6, AHEAD = 2, AT_A_TIME = 24;  // pixels between tiles; rows above and below what is in sight; tiles filled in a frame
const LEAP = 1.5;  // screens

function cellSize(width) {
  const [least, ratio] = data.texts ? [280, 0] : data.signals ? [176, 0.42 + 0.12 * data.signals.panels.length] : [width < 500 ? 76 : 104, 1];
  const columns = Math.max(1, Math.floor((width + GAP) / (least + GAP)));
  const wide = (width - GAP * (columns - 1)) / columns;
  return { columns, wide, tall: ratio ? wide * ratio : 92 };
}

function makeGrid(scroller, total) {
  const sheet = make("div", { class: "sheet" }), band = make("div", { class: "band-box", hidden: true });
  const cells = new Map(), spare = [];  // place -> element; elements to be used again
  const grid = { items: [], cursor: 0, anchor: 0, size: cellSize(800) };
  let frame = 0, settle = 0, lastTop = 0, turn = 0;
  sheet.append(band);
  scroller.replaceChildren(sheet);
  scroller.setAttribute("role", "listbox");
  scroller.setAttribute("aria-multiselectable", "true");
  scroller.tabIndex = 0;

  const where = place => [(place % grid.size.columns) * (grid.size.wide + GAP), Math.floor(place / grid.size.columns) * (grid.size.tall + GAP)];

  function show(items) {
    grid.items = items;
    grid.cursor = Math.min(grid.cursor, Math.max(0, items.length - 1));
    for (const [place, cell] of cells) if (cell.item !== items[place]) release(place, cell);
    for (const cell of cells.values()) mark(cell);
    layout();
  }

  function layout() {
    const width = sheet.clientWidth;
    if (!width) return;
    const before = grid.size;
    grid.size = cellSize(width);
    sheet.style.setProperty("--wide", `${grid.size.wide}px`);
    sheet.style.setProperty("--tall", `${grid.size.tall}px`);
    if (before.columns !== grid.size.columns || before.wide !== grid.size.wide) for (const [place, cell] of cells) put(cell, place);
    sheet.style.height = `${Math.max(0, Math.ceil(grid.items.length / grid.size.columns) * (grid.size.tall + GAP) - GAP)}px`;
    paint();
  }

  function put(cell, place) {
    const [x, y] = where(place);
    cell.style.left = `${x}px`;
    cell.style.top = `${y}px`;
  }

  function paint() {
    frame = 0;
    const { columns, tall } = grid.size, step = tall + GAP, top = scroller.scrollTop, way = Math.abs(top - lastTop);
    lastTop = top;
    clearTimeout(settle);
    if (way > LEAP * scroller.clientHeight) {  // nobody sees what flies past: bare rows, until it rests
      sheet.classList.add("leaping");
      turn += 1;
      settle = setTimeout(paint, 60);
      return;
    }
    sheet.classList.remove("leaping");
    const first = Math.max(0, Math.floor(top / step) - AHEAD) * columns;
    const last = Math.min(grid.items.length, (Math.ceil((top + scroller.clientHeight) / step) + AHEAD) * columns);
    for (const [place, cell] of cells) {
      if (place < first || place >= last) release(place, cell);
    }
    turn += 1;
    const fast = way > scroller.clientHeight / 2;  // no picture is worth asking for
    const fresh = [];
    let room = fast ? 0 : AT_A_TIME;
    for (let place = first; place < last; place += 1) {
      if (cells.has(place)) continue;
      const cell = spare.pop() ?? newCell(fresh);
      cell.item = grid.items[place];
      cell.place = place;
      cells.set(place, cell);
      cell.hidden = false;
      put(cell, place);
      mark(cell);
      if (room > 0 && fillCell(cell)) room -= 1;
    }
    sheet.append(...fresh);
    for (const cell of spare) cell.hidden = true;
    settle = setTimeout(fillAll, fast ? 90 : 40);
  }

  function newCell(list) {
    const cell = make("div", { role: "option" });
    list.push(cell);
    return cell;
  }

  function release(place, cell) {
    cells.delete(place);
    spare.push(cell);
    if (cell.firstChild) cell.replaceChildren();
  }

  const isBare = item => !data.signals && !data.texts && !data.pictures[item];  // nothing to see but how likely it is what

  // All that depends on where an item stands, in two writes: thousands of tiles fly past in a second.
  function mark(cell) {
    const { item } = cell, status = table.status[item];
    cell.className = `cell-item item${status === LABELED ? " labeled" : ""}${isChosen(item) ? " chosen" : ""}` +
      `${cell.place === grid.cursor ? " cursor" : ""}${isBare(item) ? " bare" : ""}`;
    cell.dataset.status = STATUSES[status];
  }

  // For screen readers and tests, once the grid rests.
  function tell(cell) {
    const { item } = cell;
    const facts = { id: `cell-${item}`, "data-item": item, "aria-posinset": cell.place + 1, "aria-setsize": grid.items.length,
      "aria-selected": isChosen(item), ...(data.rows[item] && { "aria-label": describe(item) }) };
    for (const [key, value] of Object.entries(facts)) cell.setAttribute(key, value);
  }

  function fillCell(cell) {
    const { item } = cell;
    if (cell.firstChild || (!data.rows[item] && (data.texts || data.signals || data.clips || !data.pictures[item]))) return false;
    const shown = textOf(item) ? quote(item, "said") : picture(item, "");
    cell.append(data.clips?.items[item] ? enliven(make("span", { class: "whole-cell" }, shown), item) : shown);
    if (isBare(item)) cell.append(make("span", {}, fileOf(data.rows[item].path)));
    return true;
  }

  // What is in sight, a few tiles a frame, so that no frame is long; a new place ends the filling of the one before.
  async function fillAll() {
    turn += 1;
    const mine = turn, shown = [...cells.values()];
    const each = async work => {
      for (let start = 0; start < shown.length; start += AT_A_TIME) {
        shown.slice(start, start + AT_A_TIME).forEach(work);
        await new Promise(requestAnimationFrame);
        if (turn !== mine) return false;
      }
      return true;
    };
    if (!await each(fillCell)) return;
    await need(shown.map(cell => cell.item));
    if (turn !== mine) return;
    await each(cell => {
      fillCell(cell);
      tell(cell);
    });
  }

  function point(place, mode) {  // mode: "only", "turn", "range", or "move" for the cursor alone
    if (!grid.items.length) return;
    const before = cells.get(grid.cursor);
    grid.cursor = Math.max(0, Math.min(grid.items.length - 1, place));
    before?.classList.remove("cursor");
    cells.get(grid.cursor)?.classList.add("cursor");
    scroller.setAttribute("aria-activedescendant", `cell-${grid.items[grid.cursor]}`);
    if (mode === "range") {
      const [from, to] = [grid.anchor, grid.cursor].sort((a, b) => a - b);
      select(grid.items.slice(from, to + 1), "only", total());
    } else {
      grid.anchor = grid.cursor;
      if (mode !== "move") select([grid.items[grid.cursor]], mode, total());
    }
  }

  function reveal(place) {
    const [, y] = where(place), bottom = y + grid.size.tall;
    if (y < scroller.scrollTop) scroller.scrollTop = y - GAP;
    else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight + GAP;
  }

  async function enlarge(place) {
    await need([grid.items[place]]);
    const from = Math.max(0, place - 100), list = grid.items.slice(from, place + 200);
    await need(list);
    openViewer(list, place - from);
  }

  scroller.addEventListener("scroll", () => { hideTip(); frame ||= requestAnimationFrame(paint); }, { passive: true });
  scroller.addEventListener("keydown", event => {
    const { columns, tall } = grid.size, page = columns * Math.max(1, Math.floor(scroller.clientHeight / (tall + GAP)));
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page,
      Home: -grid.items.length, End: grid.items.length }[event.key];
    if (by) {
      point(grid.cursor + by, event.shiftKey ? "range" : "move");
      reveal(grid.cursor);
    } else if (event.key === " ") point(grid.cursor, "turn");
    else if (event.key === "Enter" && grid.items.length) enlarge(grid.cursor);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) select(grid.items, "only", total());
    else return;
    event.preventDefault();
  });
  sheet.addEventListener("click", event => {
    const cell = event.target.closest(".cell-item");
    if (!cell || grid.banded) return;
    const mode = event.shiftKey ? "range" : event.ctrlKey || event.metaKey || event.pointerType === "touch" ? "turn" : "only";
    point(cell.place, mode);
  });
  sheet.addEventListener("dblclick", event => {
    const cell = event.target.closest(".cell-item");
    if (cell) enlarge(cell.place);
  });
  sheet.addEventListener("pointermove", event => {
    const cell = event.target.closest(".cell-item");
    if (event.pointerType !== "mouse" || grid.banding || !cell) return hideTip();
    return showTip(cell.item, event.clientX, event.clientY);
  });
  sheet.addEventListener("pointerleave", hideTip);
  new ResizeObserver(layout).observe(scroller);
  rubberBand(scroller, sheet, band, grid, total);
  grid.show = show;
  grid.refresh = () => {
    for (const cell of cells.values()) {
      mark(cell);
      cell.setAttribute("aria-selected", isChosen(cell.item));
    }
  };
  grid.top = () => { scroller.scrollTop = 0; grid.cursor = grid.anchor = 0; };
  return grid;
}
