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

// A saved figure has the ground it is drawn on, so that it can be read on any page.
async function save(box, format) {
  const { width, height } = box.getBoundingClientRect();
  const layout = { ...box.layout, paper_bgcolor: token("--surface") };
  const url = await Plotly.toImage(
    { data: box.data, layout },
    { format, width, height, scale: format === "png" ? 3 : 1 }
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = `${box.dataset.name}.${format}`;
  link.click();
}

for (const button of document.querySelectorAll("[data-save]")) {
  button.hidden = false;
  const box = button.closest("figure").querySelector("[data-figure]");
  button.addEventListener("click", () => save(box, button.dataset.save));
}

const boxes = [...document.querySelectorAll("[data-figure]")];
boxes.forEach(draw);
document.addEventListener("themechange", () => boxes.forEach(draw));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => boxes.forEach(draw));

// Cards of figures close up below each other: each takes as many rows of one pixel as it is high.
// Without this file, or on paper, a card leaves blank what its neighbour is higher.
function pack(card) {
  const below = parseFloat(getComputedStyle(card).marginBottom);
  card.style.gridRowEnd = `span ${Math.ceil(card.getBoundingClientRect().height + below)}`;
}
const packed = new ResizeObserver((changes) => changes.forEach(({ target }) => pack(target)));
for (const grid of document.querySelectorAll(".grid.figures")) {
  grid.classList.add("packed");
  for (const card of grid.children) {
    pack(card);
    packed.observe(card);
  }
}
