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

window.addEventListener("beforeprint", () => {
  before = page.getAttribute("data-theme");
  theme("light");
});
window.addEventListener("afterprint", () => theme(before));
