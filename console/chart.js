// Charts by Chart.js, which is loaded when the first chart is drawn. Each has a table with the same numbers.

import { fill, h } from "./dom.js";
import { short } from "./format.js";
import { disclosure } from "./parts.js";

let library = null;

async function load() {
  library ??= import("/console/vendor/chart.js").then(() => globalThis.Chart);
  return library;
}

const probe = h("span", { hidden: true });

function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

const series = ["chart-1", "chart-2", "chart-3", "chart-4", "chart-5", "chart-6"];
const tones = { bad: "chart-bad", warn: "chart-warn", ok: "chart-ok" };

/**
 * Returns a chart over time or over names.
 *
 * @param {object} options
 * @param {string} options.title Says what is drawn.
 * @param {string[]} options.labels
 * @param {Array<{label: string, values: number[], tone?: string}>} options.series
 * @param {"line"|"bar"|"stack"} [options.kind]
 * @param {function(number): string} [options.format] Writes a value. Default: a short number.
 * @param {AbortSignal} [options.signal] Ends the chart.
 * @param {string} [options.height] Such as `14rem`.
 */
export function chart({ title, labels, series: rows, kind = "line", format = short, signal, height = "14rem" }) {
  const canvas = h("canvas", { role: "img", "aria-label": `${title}. The table below has the numbers.` });
  const box = h("div", { class: "chart", style: { "--height": height } }, canvas);
  let drawn = null;

  const draw = async () => {
    const Chart = await load();
    if (signal?.aborted) return;
    drawn?.destroy();
    const quiet = colour("text-3");
    const line = colour("line");
    const isBar = kind !== "line";
    drawn = new Chart(canvas, {
      type: isBar ? "bar" : "line",
      data: {
        labels,
        datasets: rows.map((row, index) => {
          const tone = colour(tones[row.tone] ?? series[index % series.length]);
          return {
            label: row.label,
            data: row.values,
            borderColor: tone,
            backgroundColor: isBar ? tone : "transparent",
            borderWidth: isBar ? 0 : 2,
            pointRadius: labels.length > 40 ? 0 : 2,
            pointBackgroundColor: tone,
            tension: 0.25,
            borderRadius: 2,
            maxBarThickness: 28,
          };
        }),
      },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        font: { family: "system-ui, sans-serif" },
        plugins: {
          legend: {
            display: rows.length > 1,
            align: "start",
            labels: { color: colour("text-2"), boxWidth: 10, boxHeight: 10, usePointStyle: true },
          },
          tooltip: { callbacks: { label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}` } },
        },
        scales: {
          x: {
            stacked: kind === "stack",
            grid: { display: false },
            border: { display: false },
            ticks: { color: quiet, maxRotation: 0, autoSkipPadding: 16 },
          },
          y: {
            stacked: kind === "stack",
            beginAtZero: true,
            grid: { color: line, drawBorder: false },
            ticks: { color: quiet, maxTicksLimit: 5, callback: (value) => format(value) },
          },
        },
      },
    });
  };
  // The canvas needs its size, so it is drawn once it is part of the page.
  const start = new ResizeObserver(() => {
    if (!canvas.isConnected || box.clientWidth === 0) return;
    start.disconnect();
    draw();
  });
  start.observe(box);
  addEventListener("themechange", draw, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  const end = () => {
    start.disconnect();
    drawn?.destroy();
  };
  signal?.addEventListener("abort", end, { once: true });
  return h(
    "figure",
    { class: "chart-box" },
    box,
    disclosure("Numbers", {
      onOpen: (body) => fill(body, numbers(title, labels, rows, format)),
    }),
  );
}

function numbers(title, labels, rows, format) {
  return h(
    "div",
    { class: "table-scroll" },
    h(
      "table",
      { class: "numbers" },
      h("caption", { class: "unseen" }, title),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, ""),
          rows.map((row) => h("th", { scope: "col", class: "end" }, row.label)),
        ),
      ),
      h(
        "tbody",
        {},
        labels.map((label, index) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, label),
            rows.map((row) => h("td", { class: "end" }, format(row.values[index] ?? 0))),
          ),
        ),
      ),
    ),
  );
}
