// The blind slider: no thumb and no spoken value before it is touched. The number box is sent.
"use strict";

for (const box of document.querySelectorAll(".blind-range")) {
  const range = box.querySelector("[type=range]");
  const number = box.querySelector("[type=number]");

  const show = (value) => {
    delete box.dataset.untouched;
    range.removeAttribute("aria-valuetext");
    range.value = value;
  };
  const take = () => {
    show(range.value);
    number.value = range.value;
    number.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const hide = () => {
    box.dataset.untouched = "";
    range.setAttribute("aria-valuetext", range.dataset.empty);
  };

  for (const part of box.querySelectorAll("[hidden]")) part.hidden = false;
  hide();
  range.addEventListener("input", take);
  // A click where the hidden thumb happens to be changes nothing in the range, but it counts.
  range.addEventListener("pointerdown", () => requestAnimationFrame(take));
  range.addEventListener("keydown", (event) => {
    if (!("untouched" in box.dataset)) return;
    if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      range.value = event.key === "Home" ? 0 : 100;
      return take();
    }
    // From nowhere there is no "one further": the box asks for a number instead.
    if (event.key.startsWith("Arrow") || event.key.startsWith("Page")) {
      event.preventDefault();
      number.focus();
    }
  });
  number.addEventListener("input", () => {
    if (number.value === "") hide();
    else if (number.checkValidity()) show(number.value);
  });
  if (number.value !== "" && number.checkValidity()) show(number.value);
}
