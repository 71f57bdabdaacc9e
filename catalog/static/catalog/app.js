// What HTML alone cannot: a pop-over closes on Escape or a click elsewhere, and a failed request
// says so and keeps the old rows. Every page works without this file.
"use strict";

addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.querySelector("details.pop[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});

addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details.pop[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});

// Six can be compared: the seventh is not taken, and no request is sent for it.
addEventListener("change", (event) => {
  if (event.target.name !== "pick") return;
  const seventh = document.querySelectorAll("[name=pick]:checked").length > 6;
  if (seventh) {
    event.target.checked = false;
    event.stopImmediatePropagation();
  }
  document.getElementById("six").hidden = !seventh;
}, true);

const failed = (hidden) => () => {
  const note = document.getElementById("failed");
  if (note) note.hidden = hidden;
};
addEventListener("htmx:responseError", failed(false));
addEventListener("htmx:sendError", failed(false));
addEventListener("htmx:timeout", failed(false));
addEventListener("htmx:afterSwap", failed(true));
addEventListener("htmx:beforeRequest", () => {
  document.getElementById("results")?.setAttribute("aria-busy", "true");
});
addEventListener("htmx:afterRequest", () => {
  document.getElementById("results")?.removeAttribute("aria-busy");
});
