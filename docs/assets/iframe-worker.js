/* Browsers start no workers for pages from the file system. There, and only there, the search runs in an empty frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      this.ready = new Promise((resolve, reject) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          const load = (source) =>
            new Promise((loaded, failed) => {
              const script = inside.document.createElement("script");
              script.src = source;
              script.onload = loaded;
              script.onerror = failed;
              inside.document.head.append(script);
            });
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = async (...sources) => {
            for (const source of sources) await load(source);
          };
          load(url).then(() => resolve(inside), reject);
        });
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
