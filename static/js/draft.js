// What is entered and not confirmed: on this device at once, on the server within two seconds.
// "Saved" is said only when the server has answered that it is.
"use strict";

(() => {
  const { send, token } = window.itemRequests;
  const form = document.querySelector("form[data-draft]");
  const { draftUrl } = form.dataset;
  const prefix = "dialfork-draft:";
  const name = `${prefix}${document.body.dataset.item}:${form.dataset.draft}`;
  const maxAge = 14 * 24 * 3600 * 1000;
  const [pause, longest, soon, seldom] = [500, 1500, 5000, 60000];
  // Asked anew each time: rows of fields come and go.
  const fields = () => [...form.elements].filter((e) => e.name && !e.disabled && !["hidden", "submit"].includes(e.type));
  const button = form.querySelector("button.primary");
  const troubles = document.querySelector(".troubles");
  let revision = Number(form.dataset.revision);
  let unsaved = false; // the page holds something that the server does not
  let since = 0; // when the first unsaved change was made
  let kept = true; // this device could keep it
  let stopped = false; // the server wants nothing more of this step
  let newer = null; // what another tab saved meanwhile
  let filling = false;
  let going = false;
  let running = null;
  let timer = 0;
  let again = soon; // after so long a failed save is tried again; each failure doubles it

  // ---- what the person sees ----
  function show(word, at) {
    for (const part of document.querySelectorAll("[data-is]")) part.hidden = part.dataset.is !== word;
    if (!at) return;
    const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    document.querySelector("[data-time]").textContent = time;
  }

  function trouble(word, detail = "") {
    for (const part of troubles.children) part.hidden = part.dataset.trouble !== word;
    if (detail) troubles.querySelector("[data-detail]").textContent = detail;
  }

  function showUnsaved(word) {
    show(kept ? word : "lost");
  }

  // ---- the form ----
  function read() {
    const values = {};
    for (const field of fields()) {
      if (field.type === "checkbox") {
        if (field.checked) (values[field.name] ||= []).push(field.value);
      } else if (field.type === "radio" ? field.checked : field.value !== "") values[field.name] = field.value;
    }
    return values;
  }

  function fill(values) {
    filling = true;
    const first = fields();
    for (const field of first) set(field, values[field.name]);
    // A tick can bring fields of its own.
    for (const field of fields()) if (!first.includes(field)) set(field, values[field.name]);
    filling = false;
  }

  function set(field, value = "") {
    const chosen = ["radio", "checkbox"].includes(field.type);
    const before = chosen ? field.checked : field.value;
    if (chosen) field.checked = [value].flat().map(String).includes(field.value);
    else field.value = String(value);
    if (before === (chosen ? field.checked : field.value)) return;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  const text = (values) =>
    JSON.stringify(Object.keys(values).sort().map((key) => [key, [values[key]].flat().map(String)]));
  const same = (one, other) => text(one) === text(other);

  function wellFormed() {
    return fields().every(({ validity: v }) => !v.badInput && !v.rangeUnderflow && !v.rangeOverflow && !v.stepMismatch);
  }

  // ---- this device ----
  function keepHere() {
    try {
      localStorage.setItem(name, JSON.stringify({ at: Date.now(), values: read(), revision }));
      kept = true;
    } catch {
      kept = false; // storage is off or full: the page says so instead of claiming it is kept
    }
  }

  function forgetHere() {
    try {
      localStorage.removeItem(name);
    } catch {
      kept = false;
    }
  }

  function foundHere() {
    try {
      const draft = JSON.parse(localStorage.getItem(name) || "null");
      return draft && draft.values ? draft : null;
    } catch {
      return null; // no storage, or nothing readable: the page shows what the server has
    }
  }

  // Drafts of other steps of this item are answered; old ones are forgotten.
  function tidy() {
    const item = name.slice(0, name.lastIndexOf(":") + 1);
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(prefix) || key === name) continue;
      let at = 0;
      try {
        at = JSON.parse(localStorage.getItem(key)).at;
      } catch {
        at = 0;
      }
      if (key.startsWith(item) || Date.now() - at > maxAge) localStorage.removeItem(key);
    }
  }

  // ---- the server ----
  function changed() {
    if (filling) return;
    unsaved = true;
    since ||= Date.now();
    keepHere();
    if (stopped) return showUnsaved("kept");
    clearTimeout(timer);
    if (!wellFormed()) return show("invalid");
    show("saving");
    wait(Math.max(0, Math.min(pause, since + longest - Date.now())));
  }

  function wait(ms) {
    clearTimeout(timer);
    timer = setTimeout(save, ms);
  }

  // Resolves to a word for what the server said; two are never on their way at once.
  async function save() {
    clearTimeout(timer);
    while (running) await running;
    if (!wellFormed()) return "invalid";
    running = put();
    try {
      return await running;
    } finally {
      running = null;
    }
  }

  async function put() {
    const values = read();
    const active = window.itemTime.take();
    let answer;
    since = 0;
    try {
      answer = await send(draftUrl, "PUT", { values, revision, active_ms: active });
    } catch {
      window.itemTime.giveBack(active);
      return failed("offline", "offline");
    }
    if (answer.status === 200) return saved(values, answer.body);
    window.itemTime.giveBack(active);
    return refused(answer);
  }

  function saved(values, body) {
    again = soon;
    revision = body.revision;
    newer = null;
    trouble("");
    if (!same(values, read())) {
      keepHere();
      if (wellFormed()) wait(pause);
      return "saved";
    }
    unsaved = false;
    forgetHere();
    show(Object.keys(values).length ? "saved" : "empty", body.saved_at);
    return "saved";
  }

  function failed(word, why) {
    unsaved = true;
    showUnsaved(why === "offline" ? "offline" : "kept");
    trouble(word);
    wait(again);
    again = Math.min(seldom, 2 * again);
    return why;
  }

  function refused({ status, body }) {
    if (status === 401) return failed("signed_out", "signed_out");
    if (body.reason === "stale") {
      newer = body;
      showUnsaved("kept");
      trouble("stale");
      return "stale";
    }
    if (status === 403 || status === 429 || status >= 500) return failed("busy", "busy");
    // What is wrong with the values can be mended here; anything else is over for this page.
    stopped = status === 404 || status === 409;
    showUnsaved("kept");
    trouble("refused", body.detail || "");
    return body.reason || "refused";
  }

  // ---- two tabs ----
  troubles.querySelector("[data-take]").addEventListener("click", () => {
    fill(newer.values);
    revision = newer.revision;
    unsaved = false;
    forgetHere();
    show("saved", newer.saved_at);
    trouble("");
  });
  troubles.querySelector("[data-keep]").addEventListener("click", () => {
    revision = newer.revision;
    keepHere();
    save();
  });

  // ---- confirming ----
  // First the draft is sent: whoever is signed out or offline learns it on this page, with the
  // answers still in it. Then the form goes as it would without script, and the server decides.
  const stay = new Set(["offline", "signed_out", "busy"]);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (going) return;
    going = true;
    button.setAttribute("aria-busy", "true");
    const outcome = await save();
    if (stay.has(outcome)) {
      going = false;
      button.removeAttribute("aria-busy");
      troubles.focus();
      return;
    }
    form.elements.csrfmiddlewaretoken.value = token();
    unsaved = false;
    form.submit();
  });
  addEventListener("pageshow", () => {
    going = false;
    button.removeAttribute("aria-busy");
  });

  // ---- leaving and coming back ----
  addEventListener("beforeunload", (event) => {
    if (unsaved && !stopped && !(kept && navigator.onLine)) event.preventDefault();
  });
  addEventListener("pagehide", () => {
    if (!unsaved || stopped || newer || !wellFormed()) return;
    // Also kept here: if it does not arrive, the next visit sends it again.
    send(draftUrl, "PUT", { values: read(), revision }, { keepalive: true }).catch(() => {});
  });
  const retry = () => {
    if (unsaved && !stopped && !newer && wellFormed() && !running) save();
  };
  addEventListener("online", retry);
  addEventListener("focus", retry);
  addEventListener("offline", () => unsaved && showUnsaved("offline"));

  function begin() {
    try {
      tidy();
    } catch {
      kept = false; // no storage at all
    }
    const here = foundHere();
    const at = form.dataset.savedAt;
    if (!here || same(here.values, read())) {
      forgetHere();
      return show(at ? "saved" : "empty", at);
    }
    const stored = { values: read(), revision, saved_at: at };
    fill(here.values);
    unsaved = true;
    if (here.revision === revision || !at) return save();
    newer = stored;
    showUnsaved("kept");
    trouble("stale");
  }

  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  begin();
})();
