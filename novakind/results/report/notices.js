// Short messages: news disappear by themselves, warnings stay until they are dismissed. Screen readers read both.

function notify(text, kind = "news") {
  const last = $("notices").lastElementChild;
  if (last?.dataset.text === text) last.remove();
  const notice = make("div", { class: `message ${kind}`, "data-text": text }, make("span", {}, text),
    make("button", { type: "button", class: "plain-button", "aria-label": "Dismiss", onclick: () => notice.remove() }, "✕"));
  $("notices").append(notice);
  while ($("notices").children.length > 4) $("notices").firstElementChild.remove();
  const host = document.querySelector("dialog[open]") ?? document.body;  // what is behind an open dialog cannot be used
  if ($("notices").parentElement !== host) host.append($("notices"));
  if (kind === "news") setTimeout(() => notice.remove(), 5000);
  return notice;
}

// A menu closes when something else is clicked, and by Esc.
const openMenus = () => document.querySelectorAll("details.menu[open]");

addEventListener("pointerdown", event => { for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false; });
addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
    event.preventDefault();
  }
});

// What an edit does, in words; the server says the same of what can be undone.
function inWords(edit) {
  const names = ids => (ids ?? []).map(nameOf).join(", "), some = plural(edit.items?.length ?? 0, "item", "items");
  const texts = {
    rename: () => edit.name ? `named a category “${edit.name}”` : "took a name back",
    merge: () => `merged ${names(edit.categories)} into ${nameOf(edit.into)}`,
    different: () => `called ${names(edit.categories)} different`,
    split: () => `split ${nameOf(edit.category)} into ${edit.parts.length}`,
    move: () => `moved ${some} to ${nameOf(edit.to)}`,
    create: () => `made ${edit.name ? `“${edit.name}”` : "a category"} of ${some}`,
    confirm: () => edit.items ? `confirmed ${some}` : `confirmed all of ${nameOf(edit.category)}`,
    ignore: () => `ignored ${some}`,
    reject: () => `said that ${some} are not ${nameOf(edit.category)}`,
    undo: () => "undid the last decision",
    redo: () => "did it again",
  };
  return texts[edit.verb]?.() ?? edit.verb;
}
