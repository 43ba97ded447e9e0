// The server of a review. Every request carries the token of the page's address. Edits leave one after the other, and
// each is tried again until the server has it: the page says "saved" only once all are acknowledged.

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";
const PAUSES = [300, 700, 1500, 3000];  // milliseconds before the next try
const post = { last: Promise.resolve(), waiting: 0, lost: false };

const address = path => `/api/${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(TOKEN)}`;

// What the server refused, with its reason in one sentence.
function refusal(status, body) {
  return Object.assign(new Error(body.error ?? `the server answered ${status}`), { ...body, status });
}

async function ask(path, body) {
  const headers = { "X-Novakind-Token": TOKEN, ...(body && { "Content-Type": "application/json" }) };
  const answer = await fetch(`/api/${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (!answer.ok) throw refusal(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

const askJson = async (path, body) => (await ask(path, body)).json();
const sleep = milliseconds => new Promise(resolve => { setTimeout(resolve, milliseconds); });

// An identity of its own makes a second try harmless; its beginning tells the server which edits are of this page.
const client = Array.from(crypto.getRandomValues(new Uint8Array(9)), byte => byte.toString(16).padStart(2, "0")).join("");
let sent = 0;

function identity() {
  sent += 1;
  return `${client}-${sent}`;
}

async function deliver(edit) {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await askJson("edits", edit);
      setLost(false);
      return answer;
    } catch (error) {
      if (error.status && error.status < 500) throw error;
      setLost(true);
      await sleep(PAUSES[Math.min(tries, PAUSES.length - 1)]);
    }
  }
}

function setLost(lost) {
  post.lost = lost;
  showSaved();
}

// Sends a decision; resolves with the server's answer, or with null after saying why it was refused.
function decide(verb, details = {}, refused = null) {
  const edit = { id: identity(), base: state.version, verb, ...details };  // base: what the person has seen
  post.waiting += 1;
  showSaved();
  const turn = post.last.then(() => deliver(edit)).then(answer => {
    if (answer.conflict) notify(answer.conflict, "warn");
    return answer;
  }).catch(error => {
    if (!refused?.(error)) notify(error.message, error.conflict ? "warn" : "bad");
    return null;
  }).finally(() => {
    post.waiting -= 1;
    showSaved();
    refresh();
  });
  post.last = turn.catch(() => null);
  return turn;
}

const isOwn = edit => String(edit.id).startsWith(`${client}-`);

// The edits of all people and programs, as they are written. A page that nobody sees does not listen: browsers have few
// lines to one server.
function listen() {
  const source = document.hidden ? null : new EventSource(address("events"));
  document.addEventListener("visibilitychange", () => {
    source?.close();
    listen();
  }, { once: true });
  if (!source) return;
  source.addEventListener("edit", event => {
    const { version, edit } = JSON.parse(event.data);
    if (version <= state.version && isOwn(edit)) return;
    if (!isOwn(edit) && version > state.version && post.waiting === 0) notify(`Somebody else: ${inWords(edit)}`);
    refresh();
  });
  source.addEventListener("open", () => {
    setLost(false);
    refresh();  // what was missed while the line was cut
  });
  source.addEventListener("error", () => setLost(true));
}

addEventListener("beforeunload", event => { if (post.waiting) event.preventDefault(); });
