// Marks in an agent run: a tick beside a part of a step becomes a row of the answer, where more can be
// said about it. The ticks and the fields of the rows are the answer; nothing is kept here.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  const list = form.querySelector("[data-places]");
  const pattern = form.querySelector("template[data-row]");
  const said = form.querySelector("[data-said]");
  const steps = [...form.querySelectorAll("[data-step]")];
  const parts = [...form.querySelectorAll("[data-part]")];
  let here = null; // the step that was last in focus
  let marking = false; // m was pressed: the next letter names a part

  form.addEventListener("focusin", ({ target }) => {
    here = target.closest("[data-step]") || here;
  });

  // ---- rows ----
  const rowOf = (at) => [...list.children].find((row) => row.dataset.place === at);
  const tick = (at) => parts.find((part) => part.value === at);
  const order = (row) => parts.findIndex((part) => part.value === row.dataset.place);

  function add(part) {
    const row = pattern.content.firstElementChild.cloneNode(true);
    row.dataset.place = part.value;
    row.querySelector("a").textContent = part.dataset.where;
    row.querySelector("a").href = `#${part.closest("[data-step]").id}`;
    for (const words of row.querySelectorAll("[data-words]")) words.textContent = part.dataset.where;
    for (const field of row.querySelectorAll("[name]")) field.name += part.value;
    row.querySelector("[data-evidence] input").max = part.closest("[data-step]").dataset.step - 1;
    const next = [...list.children].find((other) => order(other) > parts.indexOf(part));
    list.insertBefore(row, next || null);
    equip(row);
  }

  function equip(row) {
    const button = row.querySelector("[data-remove]");
    button.hidden = false;
    button.addEventListener("click", () => {
      const next = row.nextElementSibling || row.previousElementSibling;
      (next?.querySelector("a") || form.querySelector("[name=rationale]")).focus();
      tick(row.dataset.place).click();
    });
  }

  function show(row) {
    const types = [...form.querySelectorAll("[name=types]:checked")].map((box) => box.value);
    const kinds = row.querySelector("[data-kinds]");
    kinds.hidden = types.length < 2;
    for (const box of kinds.querySelectorAll("input")) {
      const offered = !kinds.hidden && types.includes(box.value);
      box.closest("label").hidden = !offered;
      if (!offered) box.checked = false;
    }
    const shown = [...kinds.querySelectorAll("input:checked")].map((box) => box.value);
    const evidence = row.querySelector("[data-evidence]");
    const number = evidence.querySelector("input");
    evidence.hidden = number.max === "0" || !(shown.length ? shown : types).includes("referential");
    number.disabled = evidence.hidden;
  }

  // Whoever names a type or a place has said yes; a no that was chosen stays.
  function sayYes() {
    const answers = [...form.querySelectorAll("[name=present]")];
    if (!answers.some((answer) => answer.checked)) answers[0].checked = true;
  }

  form.addEventListener("change", ({ target }) => {
    if (["types", "places"].includes(target.name) && target.checked) sayYes();
    if (target.name === "places") {
      const row = rowOf(target.value);
      if (target.checked && !row) add(target);
      if (!target.checked) row?.remove();
      said.textContent = `${target.checked ? said.dataset.marked : said.dataset.unmarked}: ${target.dataset.where}`;
    }
    if (list) for (const row of list.children) show(row);
  }, { capture: true });

  // ---- keys ----
  function mark(key) {
    const part = here?.querySelector(`[data-part="${key}"]`);
    if (!part || !part.offsetParent) return;
    part.focus({ preventScroll: true });
    part.click();
  }

  function unfold() {
    const folded = [...(here?.querySelectorAll("details") || [])];
    const open = folded.some((one) => !one.open);
    for (const one of folded) one.open = open;
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select")) return;
    if (key === "Shift") return;
    const letter = key.toLowerCase();
    if (marking) {
      marking = false;
      if (!"taor".includes(letter)) return;
      event.preventDefault();
      return mark(letter);
    }
    if (letter === "m" && parts.length) {
      event.preventDefault();
      here ||= steps[0];
      marking = true;
      said.textContent = said.dataset.which;
    } else if (letter === "x") {
      event.preventDefault();
      here ||= steps[0];
      unfold();
    }
  }, { capture: true });

  // On a phone the questions stand at the end of the page: what was refused is shown at once.
  document.querySelector(".answer .err")?.scrollIntoView({ block: "nearest" });

  for (const row of list?.children || []) {
    equip(row);
    show(row);
  }
})();
