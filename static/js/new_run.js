// The page that starts runs: only the methods of the chosen task and the settings of chosen methods
// are shown. Without this file everything is shown, and the server ignores what was not chosen.
"use strict";

const form = document.querySelector("[data-new-run]");

function showChosen() {
  const kind = form.querySelector("[name=kind]:checked")?.value;
  for (const part of form.querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== kind;
  for (const part of form.querySelectorAll("[data-settings-of]")) {
    part.hidden = !document.getElementById(part.dataset.settingsOf).checked;
  }
}

if (form) {
  form.addEventListener("change", (event) => {
    const all = event.target.closest("[data-all]");
    const methods = [...event.target.closest("[data-kind]")?.querySelectorAll("[name$='-methods']") ?? []];
    if (all) for (const box of methods) box.checked = all.checked;
    else if (event.target.name?.endsWith("-methods")) {
      const box = event.target.closest("[data-kind]").querySelector("[data-all]");
      if (box) box.checked = methods.every((each) => each.checked);
    }
    showChosen();
  });
  showChosen();
}
