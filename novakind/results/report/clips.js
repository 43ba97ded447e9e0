// Clips: an item as a strip of frames in one picture, of which a window shows one. Playing moves the strip behind it.

const SPEED = 8, ROUNDS = 2;  // at most: frames per second, and rounds per second, as short clips must not flicker
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

// A window on one frame, first the middle one: it fills a square, or has the shape of the frame.
function clip(item, alt, whole = false, place = null) {
  const [frames, , aspect] = data.clips.items[item], middle = frames.length >> 1;
  const [wide, tall] = whole ? [1, 1] : [Math.max(1, aspect), Math.max(1, 1 / aspect)];
  const style = `--frames: ${frames.length}; --frame: ${place ?? middle}; --wide: ${wide}; --tall: ${tall}`;
  return make("span", { class: whole ? "clip whole" : "clip", "data-frames": frames.length,
    style: `${style}; --aspect: ${aspect}` },
  make("img", { src: data.pictures[item], alt, decoding: "async", draggable: "false" }));
}

function show(box, place) {
  box.style.setProperty("--frame", place);
}

function stop(box) {
  clearInterval(Number(box.dataset.timer));
  delete box.dataset.timer;
}

// Plays until it is stopped or no longer seen.
function play(box, each = place => show(box, place)) {
  const n = Number(box.dataset.frames);
  stop(box);
  if (n < 2 || CALM.matches) return;
  box.dataset.timer = setInterval(() => {
    if (box.getClientRects().length === 0) return stop(box);
    each((Number(box.style.getPropertyValue("--frame")) + 1) % n);
  }, 1000 / Math.min(SPEED, ROUNDS * n));
}

// A tile of a card plays while the pointer or the keyboard is on it; the keyboard gets the tip too.
function enliven(tile, item) {
  const box = tile.querySelector(".clip"), middle = Number(box.dataset.frames) >> 1;
  const rest = () => {
    stop(box);
    show(box, middle);
  };
  tile.addEventListener("pointerenter", () => play(box));
  tile.addEventListener("pointerleave", rest);
  tile.addEventListener("focus", () => {
    if (!tile.matches(":focus-visible")) return;
    play(box);
    requestAnimationFrame(() => {  // after the page has scrolled to the tile, which hides the tip
      const { left, bottom } = tile.getBoundingClientRect();
      if (document.activeElement === tile) showTip(item, left - 16, bottom - 10);
    });
  });
  tile.addEventListener("blur", () => {
    rest();
    hideTip();
  });
  return tile;
}

// The time of a frame, in minutes and seconds as short as the clip allows; its number where the speed is not known.
function moment(frame, total) {
  const { fps } = data.clips, last = total / fps;
  if (!fps) return `#${count(frame + 1)}`;
  if (last < 60) return `${(frame / fps).toFixed(last < 3 ? 2 : last < 30 ? 1 : 0)} s`;
  const seconds = Math.round(frame / fps);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// The frames next to each other with their times; `attributes(place)` of each, if it is a button.
function frameStrip(item, attributes = null) {
  const [frames, total, aspect] = data.clips.items[item];
  return make("div", { class: aspect < 0.7 ? "frames slim" : "frames" }, frames.map((frame, place) =>
    make(attributes ? "button" : "span", { class: "frame", ...attributes?.(place, moment(frame, total)) },
      clip(item, "", true, place), make("small", {}, moment(frame, total)))));
}

// The clip in the tip; its frames for readers who prefer reduced motion.
function tipClip(item) {
  if (CALM.matches && data.clips.items[item][0].length > 1) return frameStrip(item);
  const box = clip(item, "", true);
  play(box);
  return box;
}

// The clip large, and its frames: pointing at one holds it, choosing it stops there, choosing the clip goes on.
function largeClip(item) {
  const [frames, total, aspect] = data.clips.items[item], { fps } = data.clips;
  const box = clip(item, data.rows[item].path, true), middle = frames.length >> 1;
  let held = CALM.matches;
  const see = place => {
    show(box, place);
    [...cells.children].forEach((cell, k) => cell.classList.toggle("now", k === place));
  };
  const hold = (place, stay) => {
    stop(box);
    see(place);
    if (stay) setHeld(true);
  };
  const go = () => { if (!held) play(box, see); };
  const setHeld = value => {
    held = value;
    screen.classList.toggle("held", held);
    screen.setAttribute("aria-label", held ? "Play the clip" : "Pause the clip");
  };
  const cells = frameStrip(item, (place, time) => ({
    type: "button", "aria-label": `Frame ${place + 1} of ${frames.length}, ${time}`, onclick: () => hold(place, true),
    onpointerenter: () => hold(place, false), onfocus: () => hold(place, false), onblur: go,
  }));
  const screen = make("button", { type: "button", class: "screen", style: `--aspect: ${aspect}`,
    disabled: CALM.matches || frames.length < 2,
    onclick: () => {
      setHeld(!held);
      stop(box);
      go();
    } }, box);
  cells.addEventListener("pointerleave", go);
  setHeld(held);
  see(middle);
  go();
  const length = fps ? `, ${moment(total, total)}` : "";
  return make("div", { class: "film" }, screen, frames.length > 1 && cells, make("p", { class: "length" },
    frames.length < total ? `${frames.length} of ${plural(total, "frame", "frames")}${length}`
      : `${plural(total, "frame", "frames")}${length}`));
}
