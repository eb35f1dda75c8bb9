// An agent run: fold and unfold long texts, fetch what was left out, go between named steps.
// Without this file every fold opens by hand and every text has a link.
"use strict";

(() => {
  const folds = [...document.querySelectorAll("[data-fold]")];
  const all = document.querySelector("[data-fold-all]");
  const said = document.querySelector("[data-said]");
  const current = () => document.activeElement.closest?.("[data-step]");

  if (all && folds.length) {
    all.hidden = false;
    all.addEventListener("click", () => {
      const open = all.getAttribute("aria-pressed") !== "true";
      all.setAttribute("aria-pressed", String(open));
      const at = current();
      for (const fold of folds) fold.open = open;
      at?.scrollIntoView({ block: "nearest" });
    });
  }

  async function fetchWhole(link) {
    const text = link.closest("details").querySelector("pre, .run-text");
    const head = link.closest(".v").querySelector("pre, .run-text");
    if (link.getAttribute("aria-busy") === "true") return;
    link.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(link.dataset.whole, { credentials: "same-origin" });
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      // A page knows line feeds only; its text is cut off the front of the whole.
      const whole = (await answer.text()).replace(/\r\n?/g, "\n");
      text.textContent = whole.slice(head.textContent.length);
      const row = link.closest(".cut");
      const back = link.closest("details").querySelector("summary");
      if (row.contains(document.activeElement)) back.focus({ preventScroll: true });
      row.remove();
    } catch {
      said.textContent = said.dataset.failed;
      link.removeAttribute("aria-busy");
      link.removeAttribute("data-whole");
      location.href = link.href;
    }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-whole]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    fetchWhole(link);
  });

  function focusOn(step) {
    step.focus({ preventScroll: true });
    step.scrollIntoView({ block: "nearest" });
  }

  // Named steps of the whole run stand as links above; one outside this window is loaded.
  function named(by) {
    const links = [...document.querySelectorAll("[data-named-step]")];
    if (!links.length) return;
    const here = Number(current()?.dataset.step ?? (by > 0 ? 0 : Infinity));
    const position = (link) => Number(link.dataset.namedStep);
    const next =
      by > 0
        ? links.find((link) => position(link) > here)
        : links.reverse().find((link) => position(link) < here);
    if (!next) return;
    const step = document.getElementById(`step-${next.dataset.namedStep}`);
    if (step) focusOn(step);
    else location.href = next.href;
  }

  function fold() {
    const inside = current()?.querySelectorAll("[data-fold]") ?? [];
    const open = [...inside].some((one) => !one.open);
    for (const one of inside) one.open = open;
  }

  const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "o") fold();
    else if (event.key === "]") named(1);
    else if (event.key === "[") named(-1);
  });

  // On a phone the table of labels would stand a screen high before the first step.
  const labels = document.querySelector("[data-labels]");
  if (labels && matchMedia("(max-width: 44rem)").matches) labels.open = false;

  // A link to a step puts the keys there too; one to a label opens what it is folded in.
  const focusHash = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && labels?.contains(target)) labels.open = true;
    if (target && target.tabIndex === -1) target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", focusHash);
  focusHash();
})();
