// Undo and redo of everything, and what is saved.

const isTyping = element => element?.matches?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select");

async function goBack(verb) {
  if (post.waiting === 0 && !state[verb]) return notify(`There is nothing to ${verb}.`);
  const words = state[verb], answer = await decide(verb);
  if (answer) notify(`${verb === "undo" ? "Undone" : "Done again"}: ${words ?? "the last decision"}`);
  return null;
}

function showSaved() {
  const kind = post.lost ? "lost" : post.waiting ? "saving" : "saved";
  const text = { lost: "No connection. Trying again …", saving: "Saving …", saved: state.undo ? "Saved" : "Nothing changed yet" }[kind];
  $("saved").dataset.kind = kind;
  $("saved").dataset.version = state.version;
  $("saved-text").textContent = text;
}

function drawHistory() {
  for (const verb of ["undo", "redo"]) {
    const words = state[verb], label = verb === "undo" ? "Undo" : "Redo";
    $(verb).disabled = !words;
    $(verb).setAttribute("aria-label", words ? `${label}: ${words}` : `Nothing to ${verb}`);
    $(`${verb}-words`).textContent = words ? `${label}: ${words}` : `Nothing to ${verb}`;
  }
  showSaved();
}

$("undo").addEventListener("click", () => goBack("undo"));
$("redo").addEventListener("click", () => goBack("redo"));
addEventListener("keydown", event => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase(), verb = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : null;
  const typed = isTyping(event.target) && event.target.value !== (event.target.dataset.saved ?? "");
  if (!verb || typed) return;  // what is being typed has its own undo
  event.preventDefault();
  goBack(verb);
});
