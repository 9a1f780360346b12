// What the pages need beyond Sphinx: charts that come alive, and wide parts that the keyboard reaches.
// A chart of plotly shows its still picture until it is near, and for ever if plotly does not load.
// So it does on a phone: the still picture has a drawing for it, and plotly has not.
const here = document.currentScript.src;
const LEAST = 640; // pixels, as for the wide drawing in figures/svg.py
let library;

function plotly() {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = new URL("plotly.min.js", here);
    script.onload = () => done(window.Plotly);
    script.onerror = failed;
    document.head.append(script);
  });
  return library;
}

async function wake(chart) {
  const { data, layout, config } = JSON.parse(chart.dataset.figure);
  const Plotly = await plotly();
  const live = document.createElement("div");
  const picture = chart.querySelector("img");
  live.setAttribute("role", "img");
  live.setAttribute("aria-label", picture?.alt ?? "A chart");
  live.style.height = `${layout.height ?? 420}px`;
  chart.prepend(live);
  await Plotly.newPlot(live, data, { ...layout, autosize: true }, { ...config, responsive: true });
  const figure = chart.querySelector("figure");
  for (const part of [...figure.children])
    if (part.matches("img, figcaption, details ~ details")) part.remove();
  chart.dataset.live = "";
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || target.clientWidth < LEAST) continue;
      near.unobserve(target);
      wake(target).catch(console.error); // the picture stays
    }
  },
  { rootMargin: "400px" },
);
document.querySelectorAll(".chart").forEach((chart) => near.observe(chart));

// What is wider than its column scrolls inside itself: it takes the focus, so that arrow keys move it.
const WIDE = "pre, .math, .table-wrapper, .cell_output, .cell_output div";

function reachable() {
  for (const part of document.querySelectorAll(WIDE)) {
    const scrolls = /auto|scroll/.test(getComputedStyle(part).overflowX);
    if (scrolls && part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
}
reachable();
addEventListener("resize", reachable);
