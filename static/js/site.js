// What every page shares: the theme button, the account menu, the key list, keys that move about.
// No page needs this file to be read or answered.
"use strict";

const THEMES = ["system", "light", "dark"];
const root = document.documentElement;

function currentTheme() {
  return root.getAttribute("data-theme") || "system";
}

function setTheme(name) {
  // A cookie, so that the server prints the theme and no page flashes.
  const year = 31536000;
  if (name === "system") {
    root.removeAttribute("data-theme");
    document.cookie = "theme=; path=/; max-age=0; samesite=lax";
  } else {
    root.setAttribute("data-theme", name);
    document.cookie = `theme=${name}; path=/; max-age=${year}; samesite=lax`;
  }
  document.dispatchEvent(new CustomEvent("themechange"));
}

const themeButton = document.querySelector("[data-theme-button]");
if (themeButton) {
  const say = () => {
    const text = `Theme: ${currentTheme()}. Change`;
    themeButton.setAttribute("aria-label", text);
    themeButton.title = text;
  };
  themeButton.hidden = false;
  say();
  themeButton.addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
    say();
  });
}

for (const menu of document.querySelectorAll("[data-menu]")) {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}

for (const button of document.querySelectorAll("[data-open]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById(button.dataset.open).showModal());
}

for (const control of document.querySelectorAll("[data-autosubmit]")) {
  control.addEventListener("change", () => control.form.requestSubmit());
}

// A drawing wider than its frame opens at the step where the procedure starts.
for (const frame of document.querySelectorAll("[data-start-here]")) {
  const start = frame.querySelector(".node.t rect");
  if (!start || frame.scrollWidth <= frame.clientWidth) continue;
  const box = start.getBoundingClientRect();
  const left = box.left - frame.getBoundingClientRect().left + frame.scrollLeft;
  frame.scrollLeft = left - frame.clientWidth / 2 + box.width / 2;
}

// Keys of reading pages; an item page (data-item) has its own list.
function typing(target) {
  return target.closest?.(
    "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select, [contenteditable]"
  );
}

function stepTurn(by) {
  const turns = [...document.querySelectorAll("[data-step]")];
  if (!turns.length) return;
  const now = turns.indexOf(document.activeElement.closest?.("[data-step]"));
  const next = turns[Math.min(turns.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (document.body.hasAttribute("data-item")) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const dialog = document.getElementById("keys");
  if (event.key === "?" && dialog) {
    event.preventDefault();
    dialog.showModal();
  } else if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  } else if (event.key === "j") stepTurn(1);
  else if (event.key === "k") stepTurn(-1);
  else {
    const hit = document.querySelector(`[data-hotkey="${CSS.escape(event.key)}"]`);
    if (hit) {
      event.preventDefault();
      if (hit.tagName === "DETAILS") {
        hit.open = !hit.open;
        hit.querySelector("summary").focus();
      } else hit.click();
    }
  }
});
