// The final labels as files: what can be downloaded is, the rest is written into the run folder.

const FORMS = [
  ["csv", "Table", "CSV with one row per item: path, label, confirmed or suggested"],
  ["npz", "Arrays", "NumPy, for Python"],
  ["folders", "Folders", "your files, one folder per category"],
  ["imagefolder", "Hugging Face", "imagefolder with metadata.csv"],
  ["fiftyone", "FiftyOne", "data and labels.json"],
  ["labelstudio", "Label Studio", "tasks with predictions and annotations"],
];

async function exportAs(to) {
  $("export-menu").open = false;
  const notice = notify("Exporting …");
  try {
    const answer = await ask("export", { to });
    notice.remove();
    if ((answer.headers.get("Content-Type") ?? "").includes("json")) {
      const { path, said } = await answer.json();
      return notify(typeof said === "string" && said ? said : `Written to ${path}`, "warn done");
    }
    const name = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? `labels.${to}`;
    const link = make("a", { href: URL.createObjectURL(await answer.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    return notify(`${name} is in your downloads.`);
  } catch (error) {
    notice.remove();
    return notify(error.message, "bad");
  }
}

$("export-list").replaceChildren(...FORMS.map(([to, title, about]) => make("li", {}, make("button", { type: "button", "data-export": to,
  onclick: () => exportAs(to) }, make("b", {}, title), make("small", {}, about)))));
