// Prints the page on a button, and in the light theme: paper is white, and charts are pictures that
// took their colours from the theme they were drawn in.
"use strict";

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

const page = document.documentElement;
let before = null;

function theme(name) {
  if (name) page.setAttribute("data-theme", name);
  else page.removeAttribute("data-theme");
  document.dispatchEvent(new CustomEvent("themechange"));
}

// A chart drawn for a wide screen shrinks as a whole: it is not drawn anew for the paper.
function letShrink(svg) {
  const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.maxWidth = `${width}px`;
}

window.addEventListener("beforeprint", () => {
  before = page.getAttribute("data-theme");
  theme("light");
  document.querySelectorAll(".plot svg.main-svg").forEach(letShrink);
});
window.addEventListener("afterprint", () => {
  document.querySelectorAll(".plot svg.main-svg").forEach((svg) => {
    svg.removeAttribute("viewBox");
    svg.style.maxWidth = "";
  });
  theme(before);
});
