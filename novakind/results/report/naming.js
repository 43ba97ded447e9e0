// Names in place. Enter saves and goes to the next category, so that many are named without the mouse; the name of
// another category offers a merge.

const unsaved = new Map();  // category -> the name that is on its way

function nameField({ id, name, named, new: isNew }) {
  const saved = unsaved.get(id) ?? (named || !isNew ? name : "");
  const field = make("input", {
    class: "name", "data-keep": `name-${id}`, "data-saved": saved, autocomplete: "off", spellcheck: "false",
    maxlength: 200, placeholder: saved ? "" : name, "aria-label": `Name of ${name}`, enterkeyhint: "next",
    onkeydown: event => nameKey(event, id),
    oninput: event => hintAt(event.target, id),
    onfocus: event => event.target.select(),
    onblur: () => {
      hint(null);
      setTimeout(() => {  // a card that is drawn again has the focus back by now, and a dialog asks about what was typed
        if (field.isConnected && document.activeElement !== field && !("asking" in field.dataset)) saveName(field, id);
      });
    },
  });
  field.value = saved;
  return field;
}

function nameKey(event, id) {
  const field = event.target;
  if (event.key === "Escape") {
    field.value = field.dataset.saved;
    hint(null);
    field.blur();
  }
  if (event.key !== "Enter") return;
  event.preventDefault();
  saveName(field, id, event.shiftKey ? -1 : 1);
}

// The field after this one among those that are shown, in their order.
function nextField(field, by) {
  const fields = [...document.querySelectorAll("input.name")].filter(one => one.getClientRects().length);
  return fields[fields.indexOf(field) + by];
}

async function saveName(field, id, by = 0) {
  const name = field.value.trim(), saved = field.dataset.saved, next = by && nextField(field, by);
  const goOn = () => {
    if (!by) return;
    const there = next && document.querySelector(`[data-keep="${next.dataset.keep}"]`);
    if (there) there.focus();
    else field.blur();
  };
  if (name === saved || !data.categories[id].alive) return goOn();
  const twin = name && withName(name, id);
  if (twin) return offerTwin(field, id, twin.id, goOn);
  field.dataset.saved = name;
  unsaved.set(id, name);
  decide("rename", { category: id, name }, error => {
    if (error.same_as == null) return false;
    offerTwin(field, id, error.same_as, () => {});
    return true;
  }).then(async answer => {
    if (!answer) field.dataset.saved = saved;
    else await refresh();
    if (unsaved.get(id) === name) unsaved.delete(id);
    if (!answer) redrawCard(id);
  });
  return goOn();
}

async function offerTwin(field, id, other, then) {
  field.dataset.asking = "";
  const wanted = await offerMerge([id, other], settled(data.categories[id]) && data.categories[id].named ? other : direction([id, other]));
  if (wanted) field.dataset.saved = field.value;  // the name is given: leaving the field has nothing to save
  delete field.dataset.asking;
  if (wanted) return then();
  field.value = field.dataset.saved;
  return field.focus();
}

// While a name is typed that another category has, or begins with: what Enter would do.
function hintAt(field, id) {
  const text = plain(field.value);
  const twin = text && living().find(one => one.id !== id && settled(one) && plain(one.name).startsWith(text));
  if (!twin) return hint(null);
  const same = plain(twin.name) === text;
  return hint(field, same
    ? [make("kbd", {}, "Enter"), " offers to merge ", swatch(id), make("b", {}, nameOf(id)), " → ", swatch(twin.id), make("b", {}, twin.name)]
    : [make("kbd", {}, "Tab"), " or click to take ", swatch(twin.id), make("b", {}, twin.name), ` (${count(sizeOf(twin.id))})`],
  same ? null : () => { field.value = twin.name; hintAt(field, id); });
}

const hinted = { take: null };

function hint(field, words = [], take = null) {
  const box = $("hint");
  box.hidden = !field;
  hinted.take = take;
  if (!field) return;
  box.replaceChildren(...words.flat());
  const { left, bottom } = field.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${bottom + 6}px`;
}

$("hint").addEventListener("pointerdown", event => {  // before the field loses the focus
  event.preventDefault();
  hinted.take?.();
});
addEventListener("keydown", event => {
  if (event.key !== "Tab" || !hinted.take || $("hint").hidden || !event.target.matches("input.name")) return;
  event.preventDefault();
  hinted.take();
});
addEventListener("scroll", () => hint(null), { passive: true });

review.name = category => nameField(category);
