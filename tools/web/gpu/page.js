// The parts of the page: the whole ladder, one rung, one's own kernel. All words are in texts.json.
import { Chart, factsOf } from "./chart.js";
import { Stopped, contest } from "./contest.js";
import { Editor, kept, verdict } from "./editor.js";
import { Trouble } from "./run.js";
import { filled, made, texts } from "./words.js";

let steps, exercises, loading; // of steps.json
const sources = {}; // of kernels, by name: promises
const controls = new Set(); // one contest runs at a time on a page: these are disabled meanwhile
let busy = false;

async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return name.endsWith(".json") ? answer.json() : answer.text();
}

const stepOf = (name) => steps.find((step) => step.name === name);
const sourceOf = (name) =>
  (sources[name] ??= fetched(`${name}.wgsl`).catch(() => {
    delete sources[name]; // to be asked for again
    throw new Trouble("files");
  }));

/** What went wrong, in words, with a remedy. */
function troubleOf(error) {
  if (!(error instanceof Trouble)) return filled(texts.trouble.unknown, { message: error.message });
  return filled(texts.trouble[error.kind], { ...error.detail, message: error.detail.message || "–" });
}

/** A finding with its name, and with the place of its words: the compiler's own words tell three names apart. */
function named(finding) {
  if (!finding) return {};
  const said = finding.errors?.[0]?.message ?? "";
  let { kind, text } = finding;
  if (/uniform control flow/.test(said)) kind = "divergent barrier";
  if (/workgroup storage/i.test(said)) kind = "shared memory";
  if (finding.entries !== undefined) text = "entries";
  return { ...finding, kind, words: text ? `${kind}/${text}` : kind };
}

/** What is found of a kernel, with the finding that is told of it: none of a right one. */
const told = (found) => ({ ...found, finding: named(found.findings[0] ?? found.missed) });

/**
 * A button that runs a contest, and stops it; below it all that comes of it. `asked` gives the contestants at a press;
 * `report` gets what is found of each, and null at the beginning; `judged` gets what is found once all is checked.
 */
function arena(label, asked, { toCourse = false, report = () => {}, judged = () => {} } = {}) {
  const element = made(`<div class="gpu-arena">
    <div class="gpu-controls"><button type="button" class="gpu-go">${label}</button>
      <progress max="1" value="0" hidden aria-label="${texts.progress}"></progress></div>
    <p role="status" class="gpu-status"></p><div class="gpu-shown"></div></div>`);
  const [button, progress, status, shown] = ["button", "progress", ".gpu-status", ".gpu-shown"].map((part) =>
    element.querySelector(part),
  );
  let running = null;
  controls.add(button);
  button.disabled = busy;
  button.addEventListener("click", () => (running ? (running.stop = true) : run()));

  async function run() {
    const mine = (running = { stop: false });
    begin();
    let chart, gpu, facts;
    try {
      const contestants = await asked();
      chart = new Chart(contestants, toCourse);
      facts = made("<div></div>");
      shown.append(chart.element, made(`<p class="gpu-legend">${texts.legend}</p>`), facts);
      await contest(contestants, {
        stopped: () => mine.stop,
        gpu: (opened) => {
          gpu = opened;
          if (!gpu.software) return;
          shown.prepend(made(`<p class="gpu-note"></p>`));
          shown.firstElementChild.textContent = filled(texts.software, { gpu: gpu.name });
        },
        phase: (key, values) => {
          status.textContent = filled(texts.status[key], values);
          if (key === "none") shown.replaceChildren(); // no bar will come
        },
        state: (one, key, values) => chart.state(one, key, values),
        report: (one, found) => {
          const { finding } = told(found);
          chart.state(one, found.right ? "right" : "wrong", { kind: texts.kinds[finding.kind] });
          report(one, told(found));
        },
        judged: (one, found) => judged(one, told(found)),
        progress: (part) => (progress.value = part),
        facts: (values) => facts.replaceChildren(factsOf(gpu, values, contestants)),
        figures: (one, figures) => chart.figures(one, figures),
      });
      end("done");
    } catch (error) {
      const stopped = error instanceof Stopped;
      chart?.stop(stopped ? null : (error.of ?? null));
      if (!stopped && !chart?.timed.length) shown.replaceChildren();
      status.textContent = stopped ? texts.status.stopped : troubleOf(error);
      status.classList.toggle("gpu-trouble", !stopped);
      end(stopped ? "stopped" : "trouble");
    }
  }

  function begin() {
    element.dataset.state = "running";
    busy = true;
    for (const other of controls) other.disabled = other !== button; // this one keeps the focus, and stops it
    button.textContent = texts.stop;
    Object.assign(progress, { hidden: false, value: 0 });
    shown.replaceChildren();
    status.classList.remove("gpu-trouble");
    report(null);
  }

  function end(how) {
    running = null;
    busy = false;
    progress.hidden = true;
    button.textContent = label;
    for (const other of controls) other.disabled = false;
    element.dataset.state = how;
  }

  return element;
}

/** These rungs as contestants; each name leads to its page. */
async function rungs(names) {
  const one = async (name) => {
    const step = stepOf(name);
    return { name, title: `<a href="${step.page}.html">${name}</a>`, step, source: await sourceOf(name) };
  };
  return Promise.all(names.map(one));
}

const PARTS = {
  ladder(place) {
    place.replaceChildren(arena(texts.go.ladder, () => rungs(steps.map(({ name }) => name))));
  },

  /** This rung and the one before, beside the stored chart of a page. */
  rung(place) {
    const names = steps.map(({ name }) => name);
    const at = names.indexOf(place.dataset.step);
    const mine = names.slice(Math.max(0, at - 1), at + 1);
    const title = `<p><strong>${texts.rung}</strong> · <a href="your_gpu.html">${texts.whole}</a></p>`;
    const label = filled(texts.go.rung, { names: mine.join(texts.and) });
    place.replaceChildren(
      made(title),
      arena(label, () => rungs(mine)),
    );
  },

  /** The exercise of a rung; on the page of them all, of whichever is chosen. */
  own(place) {
    const names = place.dataset.step ? [place.dataset.step] : Object.keys(exercises);
    const choice = (name) =>
      `<label><input type="radio" name="gpu-which" value="${name}">${name}<span class="gpu-mark"></span></label>`;
    const element = made(`<div><fieldset class="gpu-which"${names.length > 1 ? "" : " hidden"}>
        <legend>${texts.own.which}</legend>${names.map(choice).join("")}</fieldset>
      <p class="gpu-task"></p><label for="gpu-editor" class="gpu-label">${texts.own.editor}</label>
      <p class="gpu-constants"></p><div class="gpu-hints"></div>
      <details class="gpu-solution"><summary>${texts.own.solution}</summary><pre tabindex="0"></pre></details></div>`);
    const part = (name) => element.querySelector(`.gpu-${name}`);
    const says = made(`<pre class="gpu-verdict verdict" role="status" tabindex="0" hidden></pre>`);
    const again = made(`<button type="button" class="gpu-again">${texts.own.again}</button>`);
    const keeps = made(`<span class="gpu-kept"></span>`);
    let name;
    const editor = new Editor((text) => {
      keeps.textContent = kept.write(name, text) ? texts.own.kept : texts.own.unkept;
    });
    const contestants = async () => {
      const rung = await sourceOf(name),
        both = { name, step: stepOf(name) };
      const mine = { source: editor.text, own: true, rung, neighbours: exercises[name].neighbours };
      return [
        { ...both, title: filled(texts.course, { name }), source: rung },
        { ...both, title: texts.yours, ...mine },
      ];
    };
    const mark = () => {
      for (const input of part("which").querySelectorAll("input"))
        input.nextElementSibling.textContent = kept.read(`${input.value}/solved`) ? " ✓" : "";
    };
    const report = (one, found) => {
      if (one && !one.own) return;
      says.hidden = !found;
      says.replaceChildren(...(found ? verdict(one.name, found, editor) : []));
      const lines = [found?.finding.line, ...(found?.finding.errors ?? []).map(({ line }) => line)];
      editor.number(lines.filter(Boolean));
    };
    const judged = ({ own, name }, { finding: { kind = "right" } }) => {
      if (!own) return;
      kept.write(`${name}/verdict`, kind);
      if (kind === "right") kept.write(`${name}/solved`, "yes"); // and so it stays, whatever is tried later
      mark();
    };
    const fight = arena(texts.go.own, contestants, { toCourse: true, report, judged });

    function choose(chosen) {
      name = chosen;
      editor.text = kept.read(name) ?? exercises[name].stub;
      part("task").textContent = texts.own.tasks[name];
      part("constants").textContent = texts.constants[name];
      const hint = (text, n) => `<details><summary>${texts.own.hints[n]}</summary><p>${text}</p></details>`;
      part("hints").innerHTML = texts.own.hint[name].map(hint).join("");
      part("solution").open = false;
      const last = kept.read(`${name}/verdict`);
      keeps.textContent = last ? filled(texts.own.last, { kind: texts.kinds[last] ?? texts.state.right }) : "";
      says.hidden = true;
    }

    part("which").addEventListener("change", ({ target }) => choose(target.value));
    part("solution").addEventListener("toggle", async ({ target }) => {
      target.lastElementChild.textContent = await sourceOf(name).catch(troubleOf);
    });
    again.addEventListener("click", () => {
      for (const each of [name, `${name}/verdict`, `${name}/solved`]) kept.write(each, null);
      mark();
      choose(name);
    });
    for (const each of [again, part("which")]) {
      controls.add(each);
      each.disabled = busy;
    }
    part("label").after(editor.element);
    part("constants").after(fight);
    fight.querySelector(".gpu-controls").append(again, keeps);
    fight.querySelector(".gpu-status").after(says);
    element.querySelector("input").checked = true;
    choose(names[0]);
    mark();
    place.replaceChildren(element);
  },
};

/** Fill these places of the page; `asked`: a reader pressed the button that stood there, so it begins at once. */
export async function mount(places, asked = false) {
  loading ??= Promise.all([fetched("texts.json"), fetched("steps.json")]);
  const [words, book] = await loading.catch((error) => {
    loading = null; // to be asked for again
    throw error;
  });
  Object.assign(texts, words);
  ({ steps, exercises } = book);
  for (const place of places) {
    PARTS[place.dataset.gpu](place);
    place.dataset.ready = "";
    if (asked) PARTS[place.dataset.gpu].begin(place);
  }
}

PARTS.rung.begin = (place) => {
  const go = place.querySelector(".gpu-go");
  if (go.disabled) place.tabIndex = -1; // what is disabled takes no focus
  (go.disabled ? place : go).focus();
  go.click();
};
PARTS.own.begin = (place) => place.querySelector("textarea").focus();
