// The confusion matrix and the curves of training.

function drawConfusion() {
  reveal("confusion", data.confusion != null);
  if (data.confusion == null) return;
  const { rows, columns, counts, items, unseen } = data.confusion, totals = counts.map(row => row.reduce((a, b) => a + b, 0));
  const gap = place => place > 0 && place === data.known ? make("td", { class: "gap" }) : null;  // known | new
  $("confusion-sub").textContent = `${plural(items, "item", "items")} whose true class is known` +
    `${unseen ? " and whose label was not used in training" : ""}. Each row is a true class; the columns show which ` +
    "categories its items were assigned to. Matching classes and categories meet on the diagonal.";
  const small = columns.length > 24;
  $("confusion-table").className = small ? "confusion small" : "confusion";
  const head = make("tr", {}, make("td", { class: "corner" }, "true class"),
    columns.map((id, column) => [gap(column), make("th", { scope: "col", title: nameOf(id) },
      make("div", {}, swatch(id), make("span", {}, nameOf(id))))]),
    make("th", { scope: "col", class: "sum" }, make("div", {}, make("span", {}, "matched"))));
  const body = rows.map((name, place) => [gap(place) && make("tr", {}, gap(place)), make("tr", {},
    make("th", { scope: "row", title: name }, name),
    counts[place].map((number, column) => {
      const share = totals[place] ? number / totals[place] : 0;
      const kinds = ["cell", share > 0.4 && "full", place === column && "match"];
      return [gap(column), make("td", {
        class: kinds.filter(Boolean).join(" "), style: `--share: ${Math.round(100 * Math.sqrt(share) * 0.94)}%`,
        title: `${count(number)} of ${count(totals[place])} items of ${name} went to ${nameOf(columns[column])}`,
      }, number && !small ? count(number) : "")];
    }),
    make("td", { class: "sum" }, totals[place] ? percent((counts[place][place] ?? 0) / totals[place]) : "–"))]);
  $("confusion-table").replaceChildren(make("thead", {}, head), make("tbody", {}, body.flat()));
  const wrong = counts.flatMap((row, place) => row.map((number, column) => ({ number, place, column })))
    .filter(({ number, place, column }) => number > 0 && place !== column)
    .sort((a, b) => b.number - a.number);
  const right = counts.reduce((sum, row, place) => sum + (row[place] ?? 0), 0);
  $("confusion-words").replaceChildren(
    make("h3", {}, `${percent(right / items, 1)} agree`),
    make("p", {}, `${count(right)} of ${plural(items, "item", "items")} are in the category that matches their true class.`),
    wrong.length > 0 && make("h4", {}, "Most frequent mix-ups"),
    make("ol", {}, wrong.slice(0, 8).map(({ number, place, column }) => make("li", {}, make("b", {}, count(number)),
      make("span", {}, number === 1 ? "item of " : "items of ", make("q", {}, rows[place]), " in ", swatch(columns[column]), make("q", {}, nameOf(columns[column])))))));
}

const WIDE = 260, TALL = 100, RIGHT = 36;  // of one chart, in its own units
const charts = [];

function figure(value, digits = 3) {
  if (value == null) return "–";
  if (typeof value !== "number") return value === "nan" ? "not a number" : value;
  if (value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 10000)) return value.toExponential(1);
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return value.toPrecision(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function chart({ key, values }) {
  const finite = values.filter(value => typeof value === "number"), n = values.length;
  const last = values.findLast(value => value != null);
  let low = Math.min(0, ...finite), high = Math.max(...finite);
  if (/_(acc|nmi|ari)\//.test(key)) high = 1;
  if (!(high > low)) high = low + 1;
  const least = Math.min(...finite), log = key.startsWith("loss") && least > 0 && high / least > 30;
  if (log) low = least;
  const x = place => n > 1 ? 4 + (WIDE - RIGHT - 8) * place / (n - 1) : (WIDE - RIGHT) / 2;
  const level = log ? Math.log : value => value;
  const y = value => 6 + (TALL - 12) * (level(high) - level(value)) / (level(high) - level(low));
  const dots = values.flatMap((value, place) => typeof value === "number" ? [[x(place), y(value)]] : []);
  const path = dots.map(([a, b], place) => `${place ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
  const parts = [0, 0.5, 1].map(share =>
    make("line", { class: "grid", x1: 0, x2: WIDE - RIGHT, y1: 6 + (TALL - 12) * share, y2: 6 + (TALL - 12) * share }));
  data.curves.stages.forEach((stage, place) => {
    if (place && stage !== data.curves.stages[place - 1]) {
      parts.push(make("line", { class: "stage", x1: x(place - 0.5), x2: x(place - 0.5), y1: 0, y2: TALL }));
    }
  });
  parts.push(make("path", { class: "curve", d: path }));
  for (const [end, height] of [[high, 9.5], [low, TALL - 2.5]]) {
    parts.push(make("text", { class: "tick", x: WIDE - RIGHT + 5, y: height }, figure(end, 2)));
  }
  if (dots.length < Math.min(n, 40) || dots.length === 1) {
    parts.push(...dots.map(([a, b]) => make("circle", { class: "point", cx: a, cy: b, r: 2 })));
  }
  values.forEach((value, place) => {  // where training went wrong
    if (typeof value === "string") parts.push(make("circle", { class: "bad", cx: x(place), cy: TALL - 6, r: 3 }));
  });
  const rule = make("line", { class: "rule", y1: 0, y2: TALL, visibility: "hidden" });
  const mark = make("circle", { class: "mark", r: 3.5, visibility: "hidden" });
  const value = make("b", {}, figure(last));
  const drawing = make("svg", {
    viewBox: `0 0 ${WIDE} ${TALL}`, role: "img",
    "aria-label": `${key} over ${plural(n, "epoch", "epochs")}, last value ${figure(last)}`,
    onpointermove: event => {
      const box = drawing.getBoundingClientRect();
      point(Math.round((n - 1) * Math.max(0, Math.min(1, (event.clientX - box.left) / box.width * WIDE / (WIDE - RIGHT)))));
    },
    onpointerleave: () => point(null),
  }, parts, rule, mark);
  charts.push(place => {
    const here = place == null ? last : values[place], seen = place != null;
    value.textContent = figure(here);
    rule.setAttribute("visibility", seen ? "visible" : "hidden");
    mark.setAttribute("visibility", seen && typeof here === "number" ? "visible" : "hidden");
    if (!seen) return;
    for (const end of ["x1", "x2"]) rule.setAttribute(end, x(place));
    if (typeof here === "number") {
      mark.setAttribute("cx", x(place));
      mark.setAttribute("cy", y(here));
    }
  });
  return make("figure", { class: "panel chart" }, make("figcaption", { title: key }, make("code", {}, key), value,
    log ? make("small", {}, "log scale") : null), drawing);
}

function point(place) {
  const { epochs, stages } = data.curves;
  charts.forEach(move => move(place));
  $("readout").textContent = place == null ? ""
    : `${stages[place] ? `${stages[place]}, ` : ""}epoch ${epochs[place]}`;
}

function drawCurves() {
  const { series } = data.curves;
  reveal("training", series.length > 0);
  charts.length = 0;
  const losses = series.filter(({ key }) => key.startsWith("loss"))
    .sort((a, b) => (b.key === "loss/total") - (a.key === "loss/total"));
  const metrics = series.filter(({ key }) => /\/(train|val|test)(\/|$)/.test(key));
  const rest = series.filter(one => !losses.includes(one) && !metrics.includes(one));
  $("curves").replaceChildren(...[["Loss terms", losses], ["Metrics", metrics], ["Also recorded", rest]]
    .filter(([, group]) => group.length)
    .flatMap(([title, group]) => [make("h3", {}, title), make("div", { class: "charts" }, group.map(chart))]));
}
