// Why there are so many new categories: the merge tree with the cut, the numbers that are plausible, hidden known classes.

const TREE = { wide: 640, left: 10, right: 26, top: 12, below: 40 };

function drawEvidence() {
  const evidence = data.evidence;
  reveal("evidence", evidence != null);
  if (evidence == null) return;
  const { leaves, cut, low, high, probes, doubt, merged } = evidence;
  const plausible = low == null ? "" : low < high ? ` From ${low} to ${high} are plausible.` : " No other number is plausible.";
  const how = merged
    ? `${leaves} outputs learnt side by side, and those that an item could not tell apart when its view changed became one, ` +
      "from left to right; beyond the cut, as they would go on."
    : `${leaves} small clusters of unlabeled items become one after the other, the most alike first, from left to right.`;
  $("evidence-sub").textContent = `${how} At the line, ${plural(cut, "category is", "categories are")} left.${plausible}` +
    (doubt ? ` It is a guess, as ${doubt}.` : "");
  const beside = probes.length > 0 && make("figure", { class: "probes" },
    make("figcaption", {}, "Known classes that were hidden, and how many of them were counted in the same way"), drawProbes(probes));
  $("evidence-panel").replaceChildren(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Merge tree" },
    drawTree(evidence)), ...(beside ? [beside] : []));
}

// Leaves in the order of the tree, so that no two lines cross.
function leafOrder({ leaves, merges }) {
  const made = Array.from({ length: leaves }, (_, leaf) => [leaf]);
  const used = new Set();
  for (const [first, second] of merges) {
    made.push([...made[first], ...made[second]]);
    used.add(first).add(second);
  }
  return made.filter((_, node) => !used.has(node)).flat();
}

function drawTree(evidence) {
  const { leaves, merges, sizes, cut, low, high, chances } = evidence;
  const tall = Math.max(150, Math.min(420, 22 * leaves)), { wide, left, right, top, below } = TREE;
  const x = number => left + (wide - left - right) * (leaves - number) / Math.max(1, leaves - 1);
  const order = leafOrder(evidence), y = [], begin = [], size = [...(sizes ?? Array(leaves).fill(1))];
  order.forEach((leaf, place) => { y[leaf] = top + (tall - top) * (place + 0.5) / leaves; });
  const all = size.reduce((a, b) => a + b, 0), thick = node => (1.2 + 9 * Math.sqrt(size[node] / all)).toFixed(1);
  const parts = [], lines = [], here = x(cut) + (x(Math.max(1, cut - 1)) - x(cut)) / 2;
  const line = (node, to, rest = "") => {  // up to the cut, and beyond it
    const from = begin[node], height = y[node].toFixed(1), stroke = { "stroke-width": thick(node) };
    if (from < here) lines.push(make("path", { class: "branch", ...stroke, d: `M${from.toFixed(1)} ${height}H${Math.min(to, here).toFixed(1)}${to <= here ? rest : ""}` }));
    if (to > here) lines.push(make("path", { class: "branch after", ...stroke, d: `M${Math.max(from, here).toFixed(1)} ${height}H${to.toFixed(1)}${rest}` }));
  };
  if (low != null && leaves > 1) {
    const from = x(Math.min(leaves, high) + 0.5), to = x(low - 0.5);
    parts.push(make("rect", { class: "range", x: Math.max(0, from), y: 0, width: Math.min(wide, to) - Math.max(0, from), height: tall }));
  }
  for (let leaf = 0; leaf < leaves; leaf++) begin[leaf] = x(leaves) - 6;
  merges.forEach(([first, second], step) => {
    const node = leaves + step, at = x(leaves - step - 1);
    y[node] = (y[first] * size[first] + y[second] * size[second]) / (size[first] + size[second]);
    size[node] = size[first] + size[second];
    begin[node] = at;
    for (const one of [first, second]) line(one, at - 8, `L${at.toFixed(1)} ${y[node].toFixed(1)}`);
  });
  const used = new Set(merges.flat());
  y.forEach((_, node) => {
    if (!used.has(node)) line(node, wide - right + 14);
  });
  parts.push(...lines, make("line", { class: "cut", x1: here, x2: here, y1: 0, y2: tall + 4 }));
  const apart = Math.max(1, Math.ceil(leaves / 24)), most = Math.max(...Object.values(chances ?? {}), 0.01);
  for (let number = leaves; number >= 1; number--) {
    const chance = chances?.[number];
    if (chance) parts.push(make("rect", { class: "chance", x: x(number) - 4, width: 8, y: tall + 20 - 15 * chance / most, height: 15 * chance / most }));
    if (number === cut || (leaves - number) % apart === 0) {
      parts.push(make("text", { class: number === cut ? "tick chosen" : "tick", x: x(number), y: tall + 33, "text-anchor": "middle" }, String(number)));
    }
  }
  return make("svg", { class: "tree", viewBox: `0 0 ${wide} ${tall + below}`, role: "img",
    "aria-label": `Merge tree of ${leaves} groups, cut where ${cut} are left` }, parts);
}

function drawProbes(probes) {
  const most = Math.max(2, ...probes.flatMap(({ hidden, counted }) => [hidden, counted])), side = 170, room = 26;
  const place = number => room + (side - room - 8) * (number - 1) / Math.max(1, most - 1);
  const times = new Map();
  for (const { hidden, counted } of probes) times.set(`${hidden} ${counted}`, (times.get(`${hidden} ${counted}`) ?? 0) + 1);
  const dots = [...times].map(([key, number]) => {
    const [hidden, counted] = key.split(" ").map(Number);
    return make("circle", { class: hidden === counted ? "probe right" : "probe", cx: place(hidden), cy: side - place(counted), r: 3.5 + 1.5 * Math.sqrt(number) });
  });
  const ends = [1, most].flatMap(number => [
    make("text", { class: "tick", x: place(number), y: side - 4, "text-anchor": "middle" }, String(number)),
    make("text", { class: "tick", x: 12, y: side - place(number) + 4, "text-anchor": "middle" }, String(number))]);
  return make("svg", { class: "probe-plot", viewBox: `0 -16 ${side} ${side + 28}`, role: "img",
    "aria-label": probes.map(({ hidden, counted }) => `${counted} counted for ${hidden}`).join(", ") },
    make("line", { class: "grid", x1: place(1), y1: side - place(1), x2: place(most), y2: side - place(most) }), ends, dots,
    make("text", { class: "tick", x: (side + room) / 2, y: side + 9, "text-anchor": "middle" }, "hidden →"),
    make("text", { class: "tick", x: 2, y: -5 }, "↑ counted"));
}
