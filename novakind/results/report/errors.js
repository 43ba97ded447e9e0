// A mistake anywhere on the page is written down where tests and the curious find it.
addEventListener("error", event => { document.documentElement.dataset.error ??= event.message; });
