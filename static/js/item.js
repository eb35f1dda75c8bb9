// Keys of an item page, with its form or with the answers given. Every one of them does what a control
// on the page does.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  const keyList = document.getElementById("keys");
  const turns = [...document.querySelectorAll("[data-turn]")];
  let at = -1;

  const typing = (target) =>
    target.closest?.("input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select");

  // From where the focus is; from where it was last when it has gone elsewhere.
  function step(by) {
    if (!turns.length) return;
    const now = turns.findIndex((turn) => turn.contains(document.activeElement));
    if (now >= 0) at = now;
    at = Math.min(turns.length - 1, Math.max(0, at < 0 ? 0 : at + by));
    const turn = turns[at];
    const pick = turn.querySelector("input[type=radio]");
    (pick && pick.offsetParent ? pick : turn).focus({ preventScroll: true });
    turn.scrollIntoView({ block: "nearest" });
  }

  // Links to help and to the form of a report open in place; without script they are pages.
  for (const link of document.querySelectorAll("a[data-dialog]")) {
    const dialog = document.getElementById(link.dataset.dialog);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      dialog.showModal();
    });
    // Focus goes back to where it was, not to the link.
    dialog.addEventListener("close", () => {
      if (dialog.back?.isConnected) dialog.back.focus({ preventScroll: true });
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    const { key, target } = event;
    if ((event.ctrlKey || event.metaKey) && key === "Enter") {
      event.preventDefault();
      if (form && !document.querySelector("dialog[open]")) form.requestSubmit();
      return;
    }
    if (key === "Escape" && typing(target)) return target.blur();
    if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(target)) return;
    if (key === "?" && keyList) {
      event.preventDefault();
      keyList.showModal();
      return;
    }
    if (key === "j" || key === "k") {
      event.preventDefault();
      return step(key === "j" ? 1 : -1);
    }
    if (target.matches?.("div[data-turn]") && (key === "ArrowDown" || key === "ArrowUp")) {
      event.preventDefault();
      return step(key === "ArrowDown" ? 1 : -1);
    }
    const number = document.querySelector(".blind-range [type=number]");
    if (number && /^[0-9]$/.test(key)) {
      number.focus();
      number.select(); // the digit then lands in the box
      return;
    }
    const control = document.querySelector(`[data-key="${CSS.escape(key.toLowerCase())}"]`);
    if (control && (control.matches("a, button") || control.offsetParent)) {
      event.preventDefault();
      const dialog = document.getElementById(control.dataset.dialog);
      if (dialog) dialog.back = document.activeElement;
      else control.focus();
      control.click();
    }
  });

  // On a narrow screen the workflow starts folded; without script it starts open.
  if (matchMedia("(max-width: 60rem)").matches) {
    document.querySelector(".proc > details")?.removeAttribute("open");
  }
})();
