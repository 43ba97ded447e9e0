// Texts: an item as what it says, in a card cut to a few lines, whole in the tip and the viewer; and telling words.

const textOf = item => data.texts?.items[item];

function quote(item, kind) {
  return make("q", { class: kind, dir: "auto" }, textOf(item));
}

// The words that set a category apart from the others.
function tellingWords({ id, typical }) {
  const words = data.texts?.words[id];
  return words && typical.length > 0 && make("ul", { class: "telling", "aria-label": "Words that set it apart" },
    words.map(word => make("li", { dir: "auto" }, word)));
}
