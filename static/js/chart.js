// Draws every [data-figure] with plotly from the JSON of that id. Strings that start with "--" are
// names of design tokens; plotly cannot read them, so they are painted on one pixel and read back.
"use strict";

const pixel = document
  .createElement("canvas")
  .getContext("2d", { willReadFrequently: true });

function token(name) {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  pixel.fillRect(0, 0, 1, 1);
  const hex = [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  return "#" + hex.map((v) => v.toString(16).padStart(2, "0")).join("");
}

function resolve(value) {
  if (typeof value === "string") return value.startsWith("--") ? token(value) : value;
  if (Array.isArray(value)) return value.map(resolve);
  if (value && typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, v]) => v !== null)
        .map(([k, v]) => [k, resolve(v)])
    );
  }
  return value;
}

function template() {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: {
      family: getComputedStyle(document.documentElement).fontFamily,
      size: 12,
      color: token("--text-2"),
    },
    hoverlabel: {
      bgcolor: token("--surface"),
      bordercolor: token("--line-strong"),
      font: { color: token("--text") },
    },
    modebar: { color: token("--text-3"), activecolor: token("--text"), bgcolor: "rgba(0,0,0,0)" },
  };
}

function draw(box) {
  const figure = JSON.parse(document.getElementById(box.dataset.figure).textContent);
  const layout = { ...template(), ...resolve(figure.layout) };
  Plotly.react(box, resolve(figure.data), layout, {
    displaylogo: false,
    responsive: true,
    displayModeBar: false,
  });
}

const boxes = [...document.querySelectorAll("[data-figure]")];
boxes.forEach(draw);
document.addEventListener("themechange", () => boxes.forEach(draw));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => boxes.forEach(draw));
