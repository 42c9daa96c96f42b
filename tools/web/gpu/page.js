// What a reader sees: a button, bars that grow as results come, an editor. All words are in texts.json.
import { Stopped, beside, contest } from "./contest.js";
import { Trouble } from "./run.js";

const LANGUAGE = document.documentElement.lang || "en";
let texts, steps, stubs;
const buttons = new Set(); // of all contests on the page: one runs at a time

const fetched = async (name) => {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return name.endsWith(".json") ? answer.json() : answer.text();
};
const sources = {};
const sourceOf = (name) => (sources[name] ??= fetched(`${name}.wgsl`).catch(() => { delete sources[name]; throw new Trouble("files"); }));
const stepOf = (name) => steps.find((step) => step.name === name);

/** An element with attributes and children; text is text. `html`: words of texts.json that hold marks. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") made.innerHTML = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const filled = (text, values = {}) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
const number = (value) => new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 3 }).format(value);
const seconds = (value) => (value >= 1 ? `${number(value)} s` : value >= 1e-3 ? `${number(value * 1e3)} ms` : `${number(value * 1e6)} µs`);
const percent = (value) => `± ${number(Math.round(1000 * value) / 10)} %`;

// ------------------------------------------------------------------------------------------------------ a chart

/** The table that is the chart: a row for each contestant, with its bar. Roles are written out: on a phone rows are grids. */
class Chart {
  constructor(contestants, toCourse) {
    this.rows = new Map();
    const head = ["name", "bar", "spread", ...(contestants.length > 1 ? ["beside"] : [])];
    const words = { ...texts.columns, ...(toCourse && { beside: texts.beside_course }) };
    const body = el("tbody", { role: "rowgroup" });
    this.element = el("table", { class: "gpu-chart", role: "table" },
      el("caption", {}, texts.table),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...head.map((key) => el("th", { role: "columnheader", scope: "col", class: `gpu-${key}` }, words[key])))), body);
    for (const one of contestants) {
      const cell = (key) => el("td", { role: "cell", class: `gpu-${key}`, ...(head.includes(key) && { "data-head": words[key] }) });
      const row = { name: el("th", { role: "rowheader", scope: "row", class: "gpu-name" }), bar: cell("bar"), spread: cell("spread"), beside: cell("beside") };
      const idea = texts.ideas[one.step.name] ?? one.step.idea;
      row.state = el("span", { class: "gpu-state" }, texts.state.waiting);
      row.name.append(one.title, row.state, ...(one.own || toCourse ? [] : [el("span", { class: "gpu-idea" }, idea)]));
      row.drawn = el("span", { class: "gpu-drawn", "aria-hidden": "true" }, el("i"), el("b"));
      row.rate = el("span", { class: "gpu-rate" });
      row.bar.append(row.drawn, row.rate);
      row.element = el("tr", { role: "row", class: one.own ? "gpu-own" : "" }, row.name, row.bar, row.spread, ...(head.length > 3 ? [row.beside] : []));
      this.rows.set(one, row);
      body.append(row.element);
    }
  }

  state(one, key, values) {
    const row = this.rows.get(one);
    row.state.textContent = filled(texts.state[key], values);
    row.element.dataset.state = key;
  }

  /** Draw all bars anew: the longest fills its cell. */
  figures(one, figures) {
    const timed = this.rows.get(one);
    timed.figures = figures;
    timed.element.dataset.timed = "";
    const all = [...this.rows.values()].filter((row) => row.figures), most = Math.max(...all.map((row) => row.figures.to));
    let before = null;
    for (const row of all) {
      const { rate, from, to, spread, rounds } = row.figures, [bar, line] = row.drawn.children;
      bar.style.width = `${(100 * rate) / most}%`;
      row.rate.textContent = number(rate);
      if (rounds > 2) { // fewer have no middle half
        Object.assign(line.style, { left: `${(100 * from) / most}%`, width: `${(100 * (to - from)) / most}%` });
        row.spread.textContent = percent(spread);
        const ratio = before && beside(row.figures, before);
        row.beside.textContent = !before ? "" : ratio === null ? texts.undecided : filled(texts.times, { ratio: ratio < 10 ? ratio.toFixed(2) : number(ratio) });
      }
      before = row.figures;
    }
  }
}

/** A list of facts: the GPU, the size, the clock, and what is in no bar. */
function factsOf(gpu, { size, clock, launch, upload, download, least }, contestants) {
  const apart = (value, words = texts.apart) => `${seconds(value)} (${words})`;
  const bytes = `${number((8 * size * size) / 1e6)} MB`;
  const rows = {
    gpu: gpu.name || texts.unnamed, size: filled(texts.sides, { size }), clock: texts.clocks[clock],
    launch: apart(launch, clock === "stamps" ? texts.apart : texts.shared), upload: `${bytes}: ${apart(upload)}`, download: `${number((4 * size * size) / 1e6)} MB: ${apart(download)}`,
  };
  const list = el("dl", { class: "gpu-facts" }, ...Object.entries(rows).map(([key, value]) => el("div", {}, el("dt", {}, texts.facts[key]), el("dd", {}, value))));
  const few = !gpu.software && contestants.length > 1 && least.blocks < 64;
  return [list, few ? el("p", { class: "gpu-note" }, filled(texts.few, least)) : null].filter(Boolean);
}

/** A button that runs a contest, and stops it; below it all that comes of it. `asked` gives the contestants at a press. */
function arena(label, asked, { toCourse = false, report = () => {} } = {}) {
  let running = null;
  const button = el("button", { type: "button", class: "gpu-go", onclick: press }, label);
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": texts.progress });
  const status = el("p", { role: "status", class: "gpu-status" }), shown = el("div", { class: "gpu-shown" });
  const element = el("div", { class: "gpu-arena" }, el("div", { class: "gpu-controls" }, button, progress), status, shown);
  buttons.add(button);

  function press() {
    if (running) running.stop = true;
    else run();
  }

  async function run() {
    const mine = (running = { stop: false });
    element.dataset.state = "running";
    for (const other of buttons) other.disabled = other !== button;
    button.textContent = texts.stop;
    Object.assign(progress, { hidden: false, value: 0 });
    shown.replaceChildren();
    status.className = "gpu-status";
    let chart, gpu, facts = el("div"), contestants = [];
    try {
      contestants = await asked();
      chart = new Chart(contestants, toCourse);
      report(null);
      shown.append(chart.element, el("p", { class: "gpu-legend" }, texts.legend), facts);
      await contest(contestants, {
        stopped: () => mine.stop,
        gpu: (opened) => {
          gpu = opened;
          if (gpu.software) shown.prepend(el("p", { class: "gpu-note" }, filled(texts.software, { gpu: gpu.name })));
        },
        phase: (key, values) => {
          status.textContent = filled(texts.status[key], values);
          if (key === "none") shown.replaceChildren();
        },
        state: (one, key, values) => chart.state(one, key, values),
        report: (one, found) => {
          const { kind, detail } = told(found.findings[0]);
          chart.state(one, found.right ? "right" : "wrong", { kind: texts.kinds[kind] });
          report(one, { ...found, kind, detail });
        },
        progress: (part) => { progress.value = part; },
        facts: (values) => facts.replaceChildren(...factsOf(gpu, values, contestants)),
        figures: (one, figures) => chart.figures(one, figures),
      });
      element.dataset.state = "done";
    } catch (error) {
      if (!(error instanceof Stopped)) chart?.state(error.of ?? contestants[0], "trouble");
      for (const [one, row] of chart?.rows ?? []) if (!["right", "wrong", "trouble"].includes(row.element.dataset.state)) chart.state(one, "stopped");
      element.dataset.state = error instanceof Stopped ? "stopped" : "trouble";
      status.textContent = error instanceof Stopped ? texts.status.stopped : troubleOf(error);
      status.classList.toggle("gpu-trouble", !(error instanceof Stopped));
      if (!(error instanceof Stopped) && ![...(chart?.rows.values() ?? [])].some((row) => row.figures)) shown.replaceChildren();
    } finally {
      running = null;
      progress.hidden = true;
      button.textContent = label;
      for (const other of buttons) other.disabled = false;
    }
  }

  return element;
}

const troubleOf = (error) => error instanceof Trouble
  ? filled(texts.trouble[error.kind], { message: "–", ...error.detail, ...(error.detail.message === "" && { message: "–" }) })
  : filled(texts.trouble.unknown, { message: error.message });

/** A finding's name, and its message's place among the words. The compiler's own words tell two names apart. */
function told(finding) {
  if (!finding) return {};
  const said = finding.errors?.[0]?.message ?? "";
  const kind = /uniform control flow/.test(said) ? "divergent barrier" : /workgroup storage/i.test(said) ? "shared memory" : finding.kind;
  const text = finding.text ?? (finding.count === null && "differs") ?? "";
  const place = finding.entries !== undefined ? `${kind}/entries` : text ? `${kind}/${text}` : kind;
  return { kind, detail: { ...finding, place_of_words: place } };
}

// ------------------------------------------------------------------------------------------------ one's own kernel

/** What a browser keeps for the page; nothing where it refuses. */
const kept = {
  read: (name) => { try { return localStorage.getItem(`matmul-ladder/${name}`); } catch { return null; } },
  write: (name, text) => {
    try {
      if (text === null) localStorage.removeItem(`matmul-ladder/${name}`);
      else localStorage.setItem(`matmul-ladder/${name}`, text);
      return true;
    } catch { return false; }
  },
};

/** An editor: a plain text area as tall as its text, with numbers beside it. */
class Editor {
  constructor(changed) {
    this.numbers = el("pre", { class: "gpu-numbers", "aria-hidden": "true" });
    this.area = el("textarea", { id: "gpu-editor", class: "gpu-text", wrap: "off", spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off",
      oninput: () => { this.number(); changed(this.area.value); } });
    this.element = el("div", { class: "gpu-editor" }, this.numbers, this.area);
  }

  set text(text) {
    this.area.value = text;
    this.number();
  }
  get text() { return this.area.value; }

  /** Number the lines; those in `wrong` are marked. */
  number(wrong = []) {
    const count = this.area.value.split("\n").length;
    this.area.rows = count;
    this.numbers.replaceChildren(...[...Array(count).keys()].map((n) => el("span", wrong.includes(n + 1) ? { class: "gpu-wrong" } : {}, `${n + 1}\n`)));
  }

  /** Select a line, for who follows a verdict there. */
  show(line) {
    const lines = this.text.split("\n"), from = lines.slice(0, line - 1).join("\n").length + (line > 1);
    this.area.focus();
    this.area.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
  }
}

/** The verdict, in the form that `check` gives it in the notebooks. Lines of one's text are buttons that lead there. */
function verdict(name, report, editor) {
  const quoted = (line) => [`  `, el("button", { type: "button", class: "gpu-line", onclick: () => editor.show(line) }, filled(texts.own.line, { line })), ` | ${(editor.text.split("\n")[line - 1] ?? "").trim()}\n`];
  if (report.right) {
    const [M, N, K] = report.largest;
    return [`${filled(texts.report.right, { name, shapes: report.shapes, M, N, K })}\n${(report.barriers ?? null) === null ? "" : `${filled(texts.report.warning, report)}\n`}`];
  }
  if (report.kind === "not yet") return [filled(texts.report["not yet"], { name })];
  const { detail } = report, errors = detail.errors ?? [];
  const message = filled(texts.messages[detail.place_of_words] ?? texts.messages[report.kind], { ...detail, off: detail.off > 0 ? `+${detail.off}` : detail.off });
  const lines = [`${filled(texts.report.wrong, { name })}\n  ${texts.kinds[report.kind]}: ${message}\n`];
  if (detail.line) lines.push(...quoted(detail.line));
  for (const { message, line } of errors.slice(0, 3)) lines.push(`  ${message.split("\n")[0]}\n`, ...(line ? quoted(line) : []));
  return lines;
}

function own(place) {
  let name = "naive";
  const says = el("pre", { class: "gpu-verdict verdict", role: "status", tabindex: "0", hidden: true });
  const keeps = el("span", { class: "gpu-kept" }), task = el("p"), constants = el("p", { class: "gpu-constants" });
  const editor = new Editor((text) => { keeps.textContent = kept.write(name, text) ? texts.own.kept : texts.own.unkept; });
  const hints = el("div"), solution = el("details", {}, el("summary", {}, texts.own.solution), el("pre", { tabindex: "0" }));
  solution.addEventListener("toggle", async () => { solution.lastChild.textContent = await sourceOf(name).catch(troubleOf); });

  function choose(chosen) {
    name = chosen;
    editor.text = kept.read(name) ?? stubs[name];
    task.textContent = texts.own.tasks[name];
    const { parameters } = stepOf(name).choices[0];
    constants.textContent = filled(texts.own.constants, { constants: Object.entries(parameters).map(([key, value]) => `${key} = ${value}`).join(", ") });
    hints.replaceChildren(...texts.own.hint[name].map((html, n) => el("details", {}, el("summary", {}, texts.own.hints[n]), el("p", { html }))));
    keeps.textContent = "";
    solution.open = false;
    says.hidden = true;
  }

  const choices = Object.keys(stubs).map((each) => el("label", {}, el("input", { type: "radio", name: "gpu-which", value: each, checked: each === name, onchange: () => choose(each) }), each));
  const fight = arena(texts.go.own, async () => [
    { name, title: filled(texts.course, { name }), step: stepOf(name), source: await sourceOf(name) },
    { name, title: texts.yours, step: stepOf(name), source: editor.text, own: true },
  ], {
    toCourse: true,
    report: (one, report) => {
      if (!one) says.hidden = true;
      if (!one?.own) return;
      says.hidden = false;
      says.replaceChildren(...verdict(name, report, editor));
      editor.number([report.detail?.line, ...(report.detail?.errors ?? []).map(({ line }) => line)]);
    },
  });
  const again = el("button", { type: "button", class: "gpu-again", onclick: () => { kept.write(name, null); choose(name); } }, texts.own.again);
  buttons.add(again);
  fight.querySelector(".gpu-controls").append(again, keeps);
  fight.querySelector(".gpu-status").after(says);
  place.replaceChildren(el("fieldset", { class: "gpu-which" }, el("legend", {}, texts.own.which), ...choices), task, el("label", { for: "gpu-editor", class: "gpu-label" }, texts.own.editor),
    editor.element, constants, fight, hints, solution);
  choose(name);
}

// ------------------------------------------------------------------------------------------------- the other parts

const onLadder = async (names) => Promise.all(names.map(async (name) => {
  const step = stepOf(name), here = location.pathname.endsWith(`/${step.page}.html`);
  return { name, title: here ? name : el("a", { href: `${step.page}.html` }, name), step, source: await sourceOf(name) };
}));

function ladder(place) {
  place.replaceChildren(arena(texts.go.ladder, () => onLadder(steps.map(({ name }) => name))));
}

function rung(place) {
  const names = steps.map(({ name }) => name), at = names.indexOf(place.dataset.step), mine = names.slice(Math.max(0, at - 1), at + 1);
  place.replaceChildren(el("p", { class: "gpu-title" }, el("strong", {}, texts.rung), " · ", el("a", { href: "your_gpu.html" }, texts.whole)),
    arena(filled(texts.go.rung, { names: mine.join(texts.and) }), () => onLadder(mine)));
}

/** Fill these places of the page. Where a file cannot be fetched, what stands there says what to do. */
export async function mount(places) {
  const [words, book] = await Promise.all([fetched("texts.json"), fetched("steps.json")]);
  [texts, steps, stubs] = [words, book.steps, book.stubs];
  for (const place of places) {
    ({ ladder, rung, own })[place.dataset.gpu](place);
    place.dataset.ready = "";
  }
}
