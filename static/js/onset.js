// Says beside the question which turn has been chosen in the conversation.
"use strict";

(() => {
  const chip = document.querySelector("[data-onset]");
  const picks = [...document.querySelectorAll('input[name="onset"]')];

  function say() {
    const chosen = picks.find((pick) => pick.checked);
    if (chosen) chip.textContent = `${chip.dataset.chosen} ${chosen.value}`;
  }
  for (const pick of picks) pick.addEventListener("change", say);
  say();
})();
