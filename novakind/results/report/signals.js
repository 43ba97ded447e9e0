// Time series: an item as a small drawing, and charts with axes, of one item or of what is typical of a category.
// All are drawn on the scale that is common to their panel, enlarged where the category would look flat on it.

const tone = channel => `--tone: var(--tone-${data.signals.colours[channel] % 8})`;
const numeral = text => text.replaceAll("-", "−");

// The values of each channel, from bytes between its least and its greatest; null where one is missing.
function unpack([low, high, code]) {
  const bytes = Uint8Array.from(atob(code), sign => sign.charCodeAt(0)), n = bytes.length / low.length;
  return low.map((least, channel) => Array.from(bytes.subarray(channel * n, (channel + 1) * n), byte =>
    byte === 255 ? null : least + byte / 254 * (high[channel] - least)));
}

// Where the value at a place of `n` stands in a lane of a drawing of 100 by 100; one off the scale stays at its edge.
function spot(n, length, [low, high], top = 0, tall = 100) {
  const last = data.signals.length - 1;
  return (place, value) => {
    const x = last ? 100 * ((place + 0.5) / n * length - 0.5) / last : 50;
    const y = top + tall * (1 - Math.max(0, Math.min(1, (value - low) / (high - low))));
    return `${x.toFixed(2)} ${y.toFixed(2)}`;
  };
}

// The stretches of places without a missing value.
function runs(values) {
  const found = [[]];
  values.forEach((value, place) => { if (value == null) found.push([]); else found.at(-1).push(place); });
  return found.filter(run => run.length);
}

function trace(channel, values, at, kind = "wave") {
  const d = runs(values).map(run => `M${run.map(place => at(place, values[place])).join("L")}`)
    .map(part => part.includes("L") ? part : `${part}h.01`);  // a single value is a dot
  return make("path", { class: kind, style: tone(channel), d: d.join("") });
}

function area(channel, low, high, at) {
  const d = runs(low).map(run => `M${run.map(place => at(place, high[place])).join("L")}` +
    `L${[...run].reverse().map(place => at(place, low[place])).join("L")}Z`);
  return make("path", { class: "band", style: tone(channel), d: d.join("") });
}

function rung(value, [low, high], top = 0, tall = 100) {
  const y = top + tall * (high - value) / (high - low);
  return make("line", { class: value === 0 ? "grid zero" : "grid", x1: 0, x2: 100, y1: y, y2: y });
}

// The scales of an item's panels: those of its category, or the common ones where it would leave them.
function scalesOf(item) {
  const { panels, common, categories, items } = data.signals, [, low, high] = items[item];
  const usual = categories[data.rows[item].category]?.scales ?? common;
  return panels.map((panel, place) => {
    const [least, greatest] = usual[place], room = (greatest - least) / 4;
    const out = panel.some(channel => low[channel] < least - room || high[channel] > greatest + room);
    return out ? [...common[place], 1] : usual[place];
  });
}

// An item without axes, its panels under each other.
function sparkline(item, alt) {
  const [length, ...packed] = data.signals.items[item], lines = unpack(packed), scales = scalesOf(item);
  const tall = 100 / scales.length, parts = [];
  data.signals.panels.forEach((panel, place) => {
    const lane = [scales[place], place * tall + 3, tall - 6 / scales.length];
    if (scales[place][0] < 0 && scales[place][1] > 0) parts.push(rung(0, ...lane));
    if (place) parts.push(make("line", { class: "grid", x1: 0, x2: 100, y1: place * tall, y2: place * tall }));
    parts.push(panel.map(channel => trace(channel, lines[channel], spot(lines[channel].length, length, ...lane))));
  });
  return make("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": alt || "signal",
    class: "spark signal" }, parts.flat());
}

// How much a drawing is enlarged, as a small mark, if that is not as `usual`; of several panels, the most enlarged one.
const largest = scales => Math.max(1, ...(scales ?? []).map(([, , gain]) => gain ?? 1));

function gainMark(item, usual = 1) {
  const gain = largest(scalesOf(item));
  return gain === usual ? null : make("small", { class: "gain" }, `×${gain}`);
}

// Round values on a scale, at least `wanted` of them and few more, each with its text.
function ticks(low, high, wanted) {
  const power = 10 ** Math.ceil(Math.log10(high - low)), found = [];
  const inside = size => [Math.ceil(low / size - 1e-6), Math.floor(high / size + 1e-6)];
  const size = [0.5, 0.2, 0.1, 0.05, 0.02].map(part => part * power)
    .find(one => inside(one)[1] - inside(one)[0] + 1 >= wanted) ?? power / 50;
  const [first, last] = inside(size);
  const digits = Math.max(0, -Math.floor(Math.log10(size * 1.001)));
  for (let k = first; k <= last; k += 1) {
    const value = k * size, plain = digits < 5 && Math.abs(value) < 1e6;
    found.push(k === 0 ? [0, "0"] : [value, numeral(plain ? value.toFixed(digits)
      : value.toExponential(Math.min(8, 1 + Math.floor(Math.log10(Math.abs(k))))))]);
  }
  return found;
}

// A chart of lines and perhaps bands; `wanted` is about how many values stand on an axis of values.
function signalChart({ lines, low, high, length, scales, example }, title, wanted) {
  const { panels, channels, rate, unit } = data.signals, last = Math.max(1, data.signals.length - 1) / (rate || 1);
  const readings = [], times = ticks(0, last, 4), n = lines[0].length;
  const rows = panels.map((panel, place) => {
    const scale = scales[place], [least, greatest, gain] = scale, marks = ticks(least, greatest, wanted);
    const rule = make("line", { class: "rule", y1: 0, y2: 100, visibility: "hidden" });
    const at = spot(n, length, scale);
    const names = panel.map(channel => {
      const value = make("b");
      readings.push([value, rule, lines[channel]]);
      const name = channels[channel];
      return make("li", { style: tone(channel), title: name }, make("i"), make("span", {}, name), value);
    });
    return make("div", { class: "plot" },
      make("ul", { class: "channels" }, names, gain > 1 && make("li", { class: "gain" }, `enlarged ×${gain}`)),
      make("div", { class: "values", "aria-hidden": "true" }, marks.map(([value, text]) =>
        make("span", { style: `top: ${100 * (greatest - value) / (greatest - least)}%` }, text))),
      make("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": title },
        marks.map(([value]) => rung(value, scale)),
        times.map(([value]) => 100 * value / last)
          .map(x => make("line", { class: "grid", x1: x, x2: x, y1: 0, y2: 100 })),
        low && panel.map(channel => area(channel, low[channel], high[channel], at)),
        example && panel.map(channel => trace(channel, example.lines[channel],
          spot(example.lines[channel].length, example.length, scale), "wave thin")),
        panel.map(channel => trace(channel, lines[channel], at)), rule));
  });
  const read = event => {
    const box = event.currentTarget.querySelector("svg").getBoundingClientRect();
    const share = event.type === "pointerleave" ? -1 : (event.clientX - box.left) / box.width;
    const place = Math.round((share * (data.signals.length - 1) + 0.5) / length * n - 0.5);
    const seen = share >= 0 && place < n;
    for (const [value, rule, values] of readings) {
      value.textContent = seen && values[place] != null ? numeral(figure(values[place], 2)) : "";
      rule.setAttribute("visibility", seen ? "visible" : "hidden");
      for (const end of ["x1", "x2"]) rule.setAttribute(end, 100 * share);
    }
  };
  const kind = panels.length > 2 ? "signal-chart many" : "signal-chart";
  return make("div", { class: kind, onpointermove: read, onpointerleave: read },
    unit.length < 6 && make("p", { class: "unit" }, unit), rows,
    make("div", { class: "times", "aria-hidden": "true" }, times.map(([value, text]) =>
      make("span", { style: `left: ${100 * value / last}%` }, text))),
    make("p", { class: "axis" }, unit.length > 5 && make("span", {}, `values in ${unit}`),
      make("span", {}, rate ? "time in seconds" : "time in samples")));
}

// What is typical of a category over time: the mean of its items, the band that holds the middle of them, and one item,
// since the mean is flat where items are not aligned in time.
function typicalSignal({ id, name, typical }) {
  const found = data.signals?.categories[id];
  if (!found) return null;
  const { items, total, length, scales } = found, [mean, low, high] = [found.mean, found.low, found.high].map(unpack);
  const whose = total === 1 ? "its only item" : items < total ? `${count(items)} of its items` : "all its items";
  const [span, ...packed] = data.signals.items[typical[0]] ?? [];
  const example = span && total > 1 ? { length: span, lines: unpack(packed) } : null;
  const all = `Thick line: mean of ${whose}. Band: the middle 80 %.${example ? " Thin line: the most typical item." : ""}`;
  const { hidden, panels } = data.signals, chart = { lines: mean, low, high, length, scales, example };
  return make("figure", { class: "typical-signal" },
    signalChart(chart, `${name}: typical signal over time`, 3),
    make("figcaption", {}, all, hidden > 0 && ` Not shown: ${plural(hidden, "more channel", "more channels")}.`));
}

// One item, large, with axes that hold all of it.
function largeSignal(item) {
  const [length, ...packed] = data.signals.items[item], [low, high] = packed;
  const scales = scalesOf(item).map(([least, greatest, gain], place) => [
    Math.min(least, ...data.signals.panels[place].map(channel => low[channel] ?? least)),
    Math.max(greatest, ...data.signals.panels[place].map(channel => high[channel] ?? greatest)), gain]);
  return signalChart({ lines: unpack(packed), length, scales }, data.rows[item].path, scales.length > 2 ? 3 : 4);
}
