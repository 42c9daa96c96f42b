// The chart: a table whose rows have bars, so that who sees it and who hears it get the same.
import { ROUNDS, beside } from "./contest.js";
import { filled, made, number, percent, seconds, texts } from "./words.js";

export class Chart {
  /** `toCourse`: these are the course's kernel and one's own, not rungs. */
  constructor(contestants, toCourse) {
    const words = { ...texts.columns, ...(toCourse && { beside: texts.beside_course }) };
    const keys = ["bar", "spread", ...(contestants.length > 1 ? ["beside"] : [])];
    const heads = keys.map((key) => `<th role="columnheader" scope="col" class="gpu-${key}">${words[key]}</th>`);
    const cells = keys.map((key) => `<td role="cell" class="gpu-${key}" data-head="${words[key]}"></td>`);
    // Roles are unrolled: on a phone a row is drawn as a grid, and would be no row any more.
    this.element = made(`<table class="gpu-chart" role="table"><caption>${texts.table}</caption>
      <thead role="rowgroup"><tr role="row">
        <th role="columnheader" scope="col" class="gpu-name">${words.name}</th>${heads.join("")}
      </tr></thead><tbody role="rowgroup"></tbody></table>`);
    this.rows = new Map();
    for (const one of contestants) {
      const idea = toCourse ? "" : texts.ideas[one.step.name];
      const row = made(`<tr role="row" class="${one.own ? "gpu-own" : ""}">
        <th role="rowheader" scope="row" class="gpu-name">${one.title}<span class="gpu-state"></span>
          <span class="gpu-idea">${idea}</span></th>${cells.join("")}</tr>`);
      row.querySelector(".gpu-bar").innerHTML =
        `<span class="gpu-drawn" aria-hidden="true"><i></i><b></b></span><span class="gpu-rate"></span>`;
      this.rows.set(one, row);
      this.element.tBodies[0].append(row);
      this.state(one, "waiting");
    }
  }

  state(one, key, values) {
    const row = this.rows.get(one);
    row.dataset.state = key;
    row.querySelector(".gpu-state").textContent = filled(texts.state[key], values);
  }

  /** A run ended early: who had no verdict yet has none. */
  stop(failed) {
    if (failed) this.state(failed, "trouble");
    for (const [one, row] of this.rows)
      if (!["right", "wrong", "trouble"].includes(row.dataset.state)) this.state(one, "stopped");
  }

  get timed() {
    return [...this.rows.values()].filter((row) => row.figures);
  }

  /** Draw all bars anew: the longest fills its cell. */
  figures(one, figures) {
    this.rows.get(one).figures = figures;
    const most = Math.max(...this.timed.map((row) => row.figures.to));
    const part = (rate) => `${(100 * rate) / most}%`;
    let before = null;
    for (const row of this.timed) {
      const { rate, from, to, spread, times } = row.figures;
      const [bar, line] = row.querySelector(".gpu-drawn").children;
      row.dataset.timed = "";
      row.querySelector(".gpu-rate").textContent = number(rate);
      bar.style.width = part(rate);
      if (times.length > 2) {
        // Fewer have no middle half.
        Object.assign(line.style, { left: part(from), width: part(to - from) });
        row.querySelector(".gpu-spread").textContent = percent(spread);
        if (before && times.length === ROUNDS && before.times.length === ROUNDS)
          row.querySelector(".gpu-beside").textContent = compared(beside(row.figures, before));
      }
      before = row.figures;
    }
  }
}

function compared(ratio) {
  if (ratio === null) return texts.undecided;
  return filled(texts.times, { ratio: ratio < 10 ? ratio.toFixed(2) : number(ratio) });
}

/** What was timed, by which clock, and what is in no bar. */
export function factsOf(gpu, { size, clock, launch, upload, download, least }, contestants) {
  const apart = (value, words = texts.apart) => `${seconds(value)}${words}`;
  const megabytes = (matrices) => `${number((matrices * 4 * size * size) / 1e6)} MB`;
  const facts = {
    gpu: gpu.name || texts.unnamed,
    size: filled(texts.sides, { size }),
    clock: texts.clocks[clock],
    launch: apart(launch, clock === "stamps" ? texts.apart : texts.shared),
    upload: `${megabytes(2)}: ${apart(upload)}`,
    download: `${megabytes(1)}: ${apart(download)}`,
  };
  const element = made(`<div><dl class="gpu-facts"></dl></div>`);
  for (const [key, fact] of Object.entries(facts)) {
    const row = made(`<div><dt>${texts.facts[key]}</dt><dd></dd></div>`);
    row.lastElementChild.textContent = fact;
    element.firstElementChild.append(row);
  }
  if (!gpu.software && contestants.length > 1 && least.blocks < 64)
    element.append(made(`<p class="gpu-note">${filled(texts.few, least)}</p>`));
  return element;
}
