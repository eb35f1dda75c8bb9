// Sends JSON to the address of a step. The token of the form is read anew each time: signing in in
// another tab changes it.
"use strict";

window.itemRequests = (() => {
  const patience = 10000;

  function token() {
    const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    return cookie ? cookie[1] : document.querySelector("[name=csrfmiddlewaretoken]").value;
  }

  // Resolves to {status, body}; rejects when there is no connection or no answer in time.
  async function send(url, method, content, { keepalive = false } = {}) {
    const response = await fetch(url, {
      method,
      keepalive,
      headers: { "Content-Type": "application/json", "X-CSRFToken": token() },
      body: JSON.stringify(content),
      signal: keepalive ? undefined : AbortSignal.timeout(patience),
    });
    const json = (response.headers.get("Content-Type") || "").includes("json");
    return { status: response.status, body: json ? await response.json() : {} };
  }

  return { send, token };
})();
