// Counts how long the page is seen and used: visible, and something done within the last minute.
// Only spans are sent, never times of day, so the clock of this device does not matter.
"use strict";

window.itemTime = (() => {
  const { send } = window.itemRequests;
  const url = document.querySelector("form[data-draft]").dataset.timeUrl;
  const idleAfter = 60000;
  const every = 15000;
  let visible = document.visibilityState === "visible";
  let last = performance.now();
  let used = last;
  let active = 0;

  function count() {
    const now = performance.now();
    if (visible) active += Math.max(0, Math.min(now, used + idleAfter) - last);
    last = now;
  }

  function use() {
    count();
    used = last;
  }

  // What was counted and not yet sent; whoever takes it and fails to send it gives it back.
  function take() {
    count();
    const ms = Math.floor(active);
    active -= ms;
    return ms;
  }

  function giveBack(ms) {
    active += ms;
  }

  async function beat() {
    const ms = take();
    if (!ms) return;
    try {
      const { status } = await send(url, "POST", { active_ms: ms }, { keepalive: true });
      if (status === 401 || status === 403 || status >= 500) giveBack(ms);
    } catch {
      giveBack(ms);
    }
  }

  for (const sign of ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchstart"]) {
    addEventListener(sign, use, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", () => {
    count();
    visible = document.visibilityState === "visible";
    if (visible) used = last;
    else beat();
  });
  addEventListener("pagehide", beat);
  setInterval(beat, every);

  return { take, giveBack };
})();
