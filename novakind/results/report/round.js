// The second round: learning again from what was decided, with progress.

const round = { timer: 0, state: null };

function openRound() {
  drawPlan();
  $("round").showModal();
  watchRound();
}

function drawPlan() {
  const named = living().filter(one => one.new && one.named), open = living().filter(one => one.new && !one.named && one.size);
  const confirmed = table.status.reduce((sum, status) => sum + (status === CONFIRMED), 0);
  const lines = [
    [count(named.length), named.length ? `named ${named.length === 1 ? "category becomes a class" : "categories become classes"}: ${named.map(one => one.name).join(", ")}.`
      : "categories are named; named ones become classes."],
    [count(confirmed), confirmed === 1 ? "confirmed item becomes a label and stays as it is."
      : "confirmed items become labels and stay as they are."],
    [count(state.ignored), state.ignored === 1 ? "ignored item is left out." : "ignored items are left out."],
    [count(open.length), `unnamed ${open.length === 1 ? "category stays" : "categories stay"} open: the network goes on looking.`],
  ];
  $("round-plan").replaceChildren(...lines.map(([n, words]) => make("li", {}, make("b", {}, n), make("span", {}, words))));
}

async function startRound() {
  $("round-start").disabled = true;
  try {
    await askJson("round", {});
    await watchRound();
  } catch (error) {
    notify(error.message, "bad");
    $("round-start").disabled = false;
  }
}

async function watchRound() {
  clearTimeout(round.timer);
  const now = await askJson("round").catch(() => null);
  if (!now) return;
  round.state = now;
  const { state: stage, epoch, of, run, error, changed } = now, running = ["starting", "running"].includes(stage);
  $("round-start").disabled = running;
  $("round-start").textContent = stage === "done" ? "Learn once more" : "Learn again";
  $("round-progress").hidden = !running && stage !== "done";
  $("round-meter").style.width = `${stage === "done" ? 100 : of ? 100 * epoch / of : 2}%`;
  const words = stage === "done" ? `Done. Review it with: novakind review ${run}` : of ? `Epoch ${epoch} of ${of}` : "Reading the data …";
  $("round-words").textContent = words;
  $("round-changed").hidden = !changed;
  $("round-changed").textContent = changed ?? "";
  $("round-error").hidden = !error;
  $("round-error").textContent = error ?? "";
  $("round-open").textContent = running ? (of ? `Learning ${epoch}/${of}` : "Learning …") : "Learn again";
  $("round-open").classList.toggle("busy", running);
  if (running) round.timer = setTimeout(watchRound, 1000);
}

$("round-open").addEventListener("click", openRound);
$("round-start").addEventListener("click", startRound);
$("round-close").addEventListener("click", () => $("round").close());
