// Where a kernel is written, what the browser keeps of it, and the verdict on it.
import { count, filled, made, texts } from "./words.js";

/** What a browser keeps for the page. Some refuse. */
export const kept = {
  read(name) {
    try {
      return localStorage.getItem(`matmul-ladder/${name}`);
    } catch {
      return null;
    }
  },
  /** Keep it, or for null forget it. Returns whether the browser does. */
  write(name, text) {
    try {
      if (text === null) localStorage.removeItem(`matmul-ladder/${name}`);
      else localStorage.setItem(`matmul-ladder/${name}`, text);
      return true;
    } catch {
      return false;
    }
  },
};

/** A plain text area, as tall as its text, with numbers beside it. Tab leaves it, as everywhere on a page. */
export class Editor {
  constructor(changed) {
    this.element = made(`<div class="gpu-editor"><pre class="gpu-numbers" aria-hidden="true"></pre>
      <textarea id="gpu-editor" class="gpu-text" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off"
        autocorrect="off"></textarea></div>`);
    [this.numbers, this.area] = this.element.children;
    this.area.addEventListener("input", () => {
      this.number();
      changed(this.text);
    });
  }

  get text() {
    return this.area.value;
  }
  set text(text) {
    this.area.value = text;
    this.number();
  }

  /** Number the lines; those in `wrong` are marked. */
  number(wrong = []) {
    this.area.rows = this.text.split("\n").length;
    const lines = Array.from({ length: this.area.rows }, (_, n) => n + 1);
    const line = (n) => `<span${wrong.includes(n) ? ' class="gpu-wrong"' : ""}>${n}\n</span>`;
    this.numbers.innerHTML = lines.map(line).join("");
  }

  line(number) {
    return this.text.split("\n")[number - 1] ?? "";
  }

  /** Select a line, for who follows a verdict there. */
  show(number) {
    const before = this.text.split("\n").slice(0, number - 1);
    const from = before.reduce((length, line) => length + line.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(from, from + this.line(number).length);
  }
}

/** The values, with their counts as one writes them. */
const counted = (values) =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      ["count", "all", "needed", "loads", "staged"].includes(key) && Number.isFinite(value) ? count(value) : value,
    ]),
  );

/** The verdict, in the form that `check` gives it in the notebooks: texts, and buttons that lead to a line. */
export function verdict(name, { right, shapes, largest, counts, missed, finding }, editor) {
  if (right && !missed) {
    const [M, N, K] = largest;
    const lines = [filled(texts.report.right, { name, shapes, M, N, K })];
    if (counts) lines.push(filled(texts.report.counted, counted(counts)));
    else lines.push(texts.report.uncounted);
    return [[...lines, texts.report.unseen].join("\n")];
  }
  if (finding.kind === "not yet") return [filled(texts.report["not yet"], { name })];
  const message = filled(texts.messages[finding.words], counted(finding));
  const parts = [`${filled(missed ? texts.report.misses : texts.report.wrong, { name })}\n  ${texts.kinds[finding.kind]}: ${message}\n`];
  const quote = (number) => {
    const button = made(`<button type="button" class="gpu-line">${filled(texts.own.line, { line: number })}</button>`);
    button.addEventListener("click", () => editor.show(number));
    parts.push("  ", button, ` | ${editor.line(number).trim()}\n`);
  };
  if (finding.line) quote(finding.line);
  for (const error of (finding.errors ?? []).slice(0, 3)) {
    parts.push(`  ${error.message.split("\n")[0]}\n`);
    if (error.line) quote(error.line);
  }
  return parts;
}
