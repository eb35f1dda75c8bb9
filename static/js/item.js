// Keys of an item page. Every one of them does what a control on the page does.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  const keyList = document.getElementById("keys");
  const turns = [...document.querySelectorAll("[data-turn]")];
  let sent = false;

  const typing = (target) =>
    target.closest?.("input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea");

  function step(by) {
    if (!turns.length) return;
    const now = turns.findIndex((turn) => turn.contains(document.activeElement));
    const turn = turns[Math.min(turns.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
    const pick = turn.querySelector("input");
    (pick && pick.offsetParent ? pick : turn).focus({ preventScroll: true });
    turn.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    const { key, target } = event;
    if ((event.ctrlKey || event.metaKey) && key === "Enter") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) form.requestSubmit();
      return;
    }
    if (key === "Escape" && typing(target)) return target.blur();
    if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(target)) return;
    if (key === "?") {
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
    if (/^[0-9]$/.test(key)) {
      const number = document.querySelector(".blind-range [type=number]");
      if (number) {
        number.focus();
        number.select(); // the digit then lands in the box
      }
      return;
    }
    const control = document.querySelector(`[data-key="${CSS.escape(key.toLowerCase())}"]`);
    if (control) {
      event.preventDefault();
      control.click();
      control.focus();
    }
  });

  // On a narrow screen the workflow starts folded; without script it starts open.
  if (matchMedia("(max-width: 60rem)").matches) {
    document.querySelector(".proc > details")?.removeAttribute("open");
  }

  // A second click while the answer is on its way sends nothing.
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    form.querySelector("button.primary").setAttribute("aria-busy", "true");
  });
  addEventListener("pageshow", () => {
    sent = false;
    form.querySelector("button.primary").removeAttribute("aria-busy");
  });
})();
