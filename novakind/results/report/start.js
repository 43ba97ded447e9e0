// All sections, and the call that draws them first.

function draw() {
  drawHeader();
  drawCards();
  drawSection();
  drawEvidence();
  drawConfusion();
  drawCurves();
  drawSettings();
  drawLinks();
  review.drawn?.();
}

globalThis.novakind = { data, draw };
Promise.resolve(review.begin?.()).then(() => {
  draw();
  document.documentElement.dataset.ready = "";
});
