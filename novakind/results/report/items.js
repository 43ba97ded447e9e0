// Where every item stands, as columns, and what is to be seen of an item, asked for when it is first shown.

const LABELED = 0, CONFIRMED = 1, SUGGESTED = 2, IGNORED = 3;
const STATUSES = ["labeled", "confirmed", "suggested", "ignored"];
const AT_ONCE = 400;  // items in one request
const asked = new Map();  // item -> the promise of its row

const BYTES = 17;  // of an item's row in all columns

function takeTable(bytes) {
  const n = bytes.byteLength / BYTES;
  let at = 0;
  const column = (Kind, size) => {
    const start = at;
    at += n * size;
    return start % size ? new Kind(bytes.slice(start, at)) : new Kind(bytes, start, n);
  };
  table.category = column(Int32Array, 4);
  table.probability = column(Float32Array, 4);
  table.status = column(Uint8Array, 1);
  table.margin = column(Float32Array, 4);
  table.likeness = column(Float32Array, 4);
  for (const [item, row] of Object.entries(data.rows)) row.category = table.category[item];
}

// The place of every item by name; asked for when it is first sorted by.
async function readOrder() {
  table.order = new Uint32Array(await (await ask("order")).arrayBuffer());
}

function adopt(item, row) {
  row.category = table.category[item];
  if (row.text != null && data.texts) data.texts.items[item] = row.text;
  if (row.signal && data.signals) data.signals.items[item] = row.signal;
  if (row.clip && data.clips) data.clips.items[item] = row.clip;
  data.rows[item] = row;
}

// Pictures have an address; the server says which kinds of data have one.
function addressesOfPictures() {
  const found = {};
  if (!data.pictured) return found;
  return new Proxy(found, {
    get: (_, item) => data.bare.has(Number(item)) ? undefined : address(`${data.clips ? "clip" : "picture"}/${item}`),
  });
}

review.large = item => data.clips || !data.pictures[item] ? null : address(`picture/${item}?large=1`);

// An item whose file cannot be shown is drawn as one that has no picture.
review.broken = (image, item) => {
  data.bare.add(item);
  if (data.rows[item]) image.replaceWith(likelihoods(item, image.alt));
  else image.remove();
};

// The rows of these items, asked for where they are not known yet.
async function need(items) {
  const missing = [...new Set(items)].filter(item => !data.rows[item] && !asked.has(item));
  for (let start = 0; start < missing.length; start += AT_ONCE) {
    const part = missing.slice(start, start + AT_ONCE);
    const answer = askJson(`rows?items=${part.join(",")}`).then(rows => {
      for (const [item, row] of Object.entries(rows)) adopt(Number(item), row);
    }).finally(() => part.forEach(item => asked.delete(item)));
    part.forEach(item => asked.set(item, answer));
  }
  await Promise.all([...new Set(items.map(item => asked.get(item)).filter(Boolean))]);
}

// The items of a category, or those that are ignored, without asking the server.
function members(id) {
  const found = [];
  for (let item = 0; item < table.category.length; item += 1) {
    if (table.category[item] === id && table.status[item] !== IGNORED) found.push(item);
  }
  return found;
}

function ignoredItems() {
  const found = [];
  for (let item = 0; item < table.status.length; item += 1) if (table.status[item] === IGNORED) found.push(item);
  return found;
}

// Items by a number each, the least first: one sort of packed numbers, since comparing in a function is slow for many.
function ordered(items, key, descending) {
  const packed = new Float64Array(items.length), size = 2 ** 21;
  for (let place = 0; place < items.length; place += 1) {
    const value = Math.round(1e6 * key(items[place]));
    packed[place] = (descending ? -value : value) * size + place;
  }
  packed.sort();
  return Array.from(packed, value => items[((value % size) + size) % size]);
}
