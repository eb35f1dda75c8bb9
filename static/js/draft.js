// What has been entered and not confirmed is kept on this device, so that a reload loses nothing.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  const token = document.body.dataset.item;
  const prefix = "dialfork-draft:";
  const name = `${prefix}${token}:${form.dataset.draft}`;
  const maxAge = 14 * 24 * 3600 * 1000;
  const state = document.querySelector("[data-state]");
  const fields = [...form.elements].filter((e) => e.name && e.type !== "hidden");

  function show(word, at) {
    for (const part of state.querySelectorAll(".state")) part.hidden = !part.classList.contains(word);
    if (at) {
      const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      state.querySelector("[data-time]").textContent = time;
    }
  }

  function keep() {
    const values = {};
    for (const field of fields) {
      if (field.type === "radio" ? field.checked : field.value !== "") values[field.name] = field.value;
    }
    if (!Object.keys(values).length) {
      localStorage.removeItem(name);
      return show("draft");
    }
    const at = Date.now();
    try {
      localStorage.setItem(name, JSON.stringify({ at, values }));
      show("saved", at);
    } catch {
      show("offline"); // storage is off or full: the page says so instead of claiming it is kept
    }
  }

  function restore() {
    let draft = null;
    try {
      draft = JSON.parse(localStorage.getItem(name) || "null");
    } catch {
      draft = null; // unreadable: the page starts empty, as it does without a draft
    }
    if (!draft || !draft.values) return show("draft");
    for (const field of fields) {
      const value = draft.values[field.name];
      if (value === undefined) continue;
      if (field.type === "radio") field.checked = field.value === value;
      else if (field.value === "") field.value = value;
      if (field.type !== "radio" || field.checked) {
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }
    }
    show("saved", draft.at);
  }

  // Drafts of other steps of this item are answered; old ones are forgotten.
  function tidy() {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(prefix) || key === name) continue;
      let at = 0;
      try {
        at = JSON.parse(localStorage.getItem(key)).at;
      } catch {
        at = 0;
      }
      if (key.startsWith(`${prefix}${token}:`) || Date.now() - at > maxAge) localStorage.removeItem(key);
    }
  }

  try {
    tidy();
    restore();
  } catch {
    show("offline"); // no storage at all
  }
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
})();
