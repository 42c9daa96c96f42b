// What a kernel does, counted: its text is changed so that each access to memory leaves a note in a buffer. One workgroup.
import { Trouble, withoutComments } from "./run.js";

const FIRST = 16, // where the first index of A lies that each invocation reads; those of B after it
  INVOCATIONS = 1024,
  READ = 4096, // who read each place of workgroup memory last, and then who wrote it
  PLACES = 1 << 15, // of an array in workgroup memory
  ARRAYS = 4;
/** Words of the buffer, and how many of them are counts. */
export const NOTES = READ + 2 * ARRAYS * PLACES;

const HELP = `
@group(0) @binding(4) var<storage, read_write> note: array<atomic<u32>>;
var<private> note_who: u32; var<private> note_row: u32; var<private> note_asked: bool;
var<private> note_round = 1u; var<private> note_begun: array<bool, 2>;
fn note_load(which: u32, at: u32) -> u32 {
  atomicAdd(&note[0], 1u);
  note_asked = true;
  if (!note_begun[which]) { atomicStore(&note[${FIRST}u + which * ${INVOCATIONS}u + note_who], at + 1u); }
  note_begun[which] = true;
  return at;
}
fn note_line(row: u32, columns: u32) -> u32 { note_row = row * columns; return row; }
fn note_race(line: u32, seen: u32) {
  if (seen / ${INVOCATIONS}u == note_round && seen % ${INVOCATIONS}u != note_who) { atomicStore(&note[3], line); }
}
fn note_stage(line: u32, array: u32, writes: bool, col: u32) -> u32 {
  let place = array * ${PLACES}u + (note_row + col) % ${PLACES}u;
  let reads = ${READ}u + place; let written = ${READ + ARRAYS * PLACES}u + place;
  let me = note_round * ${INVOCATIONS}u + note_who;
  // Each leaves its own note first, and looks then: of two that run side by side, one at least sees the other.
  if (writes) {
    note_race(line, atomicExchange(&note[written], me));
    note_race(line, atomicLoad(&note[reads]));
    return col;
  }
  atomicAdd(&note[1], 1u);
  if (note_asked) { atomicAdd(&note[2], 1u); }
  note_asked = false;
  let before = atomicExchange(&note[reads], me);
  if (before / ${INVOCATIONS}u == note_round && before != me) {  // it has more readers than one
    atomicStore(&note[reads], note_round * ${INVOCATIONS}u + ${INVOCATIONS - 1}u);
  }
  note_race(line, atomicLoad(&note[written]));
  return col;
}
`;

/** Where the bracket closes that opens there. */
function closing(text, open) {
  const [opens, closes] = text[open] === "[" ? "[]" : "()";
  for (let at = open, depth = 0; at < text.length; at++) {
    depth += (text[at] === opens) - (text[at] === closes);
    if (!depth) return at;
  }
  return text.length;
}

/** The inputs A and B, as the source calls them. */
const inputsOf = (code) => {
  const bound = [...code.matchAll(/@binding\((\d)\)\s*var\s*<[^>]*>\s*(\w+)/g)];
  return ["0", "1"].map((place) => bound.find(([, binding]) => binding === place)?.[2]);
};
/** Its arrays in workgroup memory. */
const stagedOf = (code) => [...code.matchAll(/var\s*<\s*workgroup\s*>\s*(\w+)/g)].map(([, name]) => name);

/** Whether notes tell all that is loaded and staged: of arrays of numbers, read by their names and by no pointer. */
function countable(code, inputs, staged) {
  const names = [...inputs, ...staged];
  if (inputs.includes(undefined) || staged.length > ARRAYS) return false;
  // After a name, a number or a bracket, & is an operator between two numbers.
  const pointer = new RegExp(`(?<=[^\\w)\\]\\s&]\\s*)(?<!\\barrayLength\\s*\\(\\s*)&\\s*\\(*\\s*(${names.join("|")})\\b`);
  const plain = (name) =>
    new RegExp(`\\b${name}\\s*:\\s*array\\s*<\\s*(array\\s*<\\s*)?([fiu]\\d+|vec[234](\\w|\\s*<\\s*\\w+\\s*>))\\s*[,>]`);
  return !pointer.test(code) && names.every((name) => plain(name).test(code));
}

/** The source with a note at each load of A and B, each access to workgroup memory, each barrier. No line moves. */
export function counting(source) {
  let code = withoutComments(source);
  const inputs = inputsOf(code),
    staged = stagedOf(code);
  if (!countable(code, inputs, staged)) throw new Trouble("uncounted");
  // A row of `array<array<f32, COLUMNS>, ROWS>` has COLUMNS places.
  const columns = (name) => {
    const inner = code.match(new RegExp(`\\b${name}\\s*:\\s*array\\s*<\\s*array\\s*<([^;]*)>\\s*,`))?.[1];
    return inner && `u32(${inner.slice(inner.lastIndexOf(",") + 1)})`;
  };
  const names = [...inputs, ...staged].join("|");
  const put = (from, to, text) => {
    code = code.slice(0, from) + text + code.slice(to);
  };
  // From the last one back: an index may hold another array, and what stands before keeps its place.
  for (const { 0: head, 1: name, index } of [...code.matchAll(new RegExp(`\\b(${names})\\s*\\[`, "g"))].reverse()) {
    const open = index + head.length - 1,
      close = closing(code, open),
      line = code.slice(0, index).split("\n").length;
    if (inputs.includes(name)) {
      put(open + 1, close, `note_load(${inputs.indexOf(name)}u, u32(${code.slice(open + 1, close)}))`);
      continue;
    }
    const second = code[close + 1] === "[" ? closing(code, close + 1) : close;
    const writes = /^(\[[^\]]*\]|\.\w+)*\s*([-+*/%&|^]|<<|>>)?(=(?!=)|\+\+|--)/.test(code.slice(second + 1));
    if (writes) {
      // Only now is it stored: a load in the same statement comes after its index.
      const after = code.indexOf(";", second) + 1;
      put(after, after, " note_asked = false;");
    }
    const stage = (at) => `note_stage(${line}u, ${staged.indexOf(name) % ARRAYS}u, ${writes}, ${at})`;
    if (!columns(name)) put(open + 1, close, stage(`u32(${code.slice(open + 1, close)}) + note_line(0u, 0u)`));
    else if (second === close) throw new Trouble("uncounted"); // a whole row at once
    else {
      put(close + 2, second, stage(`u32(${code.slice(close + 2, second)})`));
      put(open + 1, close, `note_line(u32(${code.slice(open + 1, close)}), ${columns(name)})`);
    }
  }
  code = code.replace(/\bworkgroupBarrier\s*\(\s*\)/g, "note_round++; $&");
  const entry = code.match(/@compute\b[^{]*?\bfn\s+\w+\s*\(/);
  const own = code.match(/@builtin\s*\(\s*local_invocation_index\s*\)\s*(\w+)/)?.[1];
  const opens = entry.index + entry[0].length,
    body = code.indexOf("{", closing(code, opens - 1)) + 1;
  put(body, body, ` note_who = ${own ?? "note_index"};`);
  if (!own) put(opens, opens, "@builtin(local_invocation_index) note_index: u32, ");
  return code + HELP;
}

/**
 * The notes as counts: loads from A and B, reads of workgroup memory, those between a load and a store, a race's line;
 * of A and of B, the pieces that neighbours ask for.
 */
export function counts([loads, staged, between, race, ...notes]) {
  // What one instruction of 32 invocations asks for: pieces of 32 bytes.
  const first = [0, 1].map((which) => notes.slice(FIRST - 4 + which * INVOCATIONS).slice(0, INVOCATIONS));
  const pieces = first.map((all) => {
    const neighbours = all.slice(0, 32).filter(Boolean);
    return new Set(neighbours.map((at) => Math.floor((at - 1) / 8))).size;
  });
  return { loads, staged, between, race, pieces };
}

/** What a right kernel does that the idea of its rung spares: a finding, or null. `rung`: the counts of the rung itself. */
export function missed(mine, rung, neighbours) {
  if (mine.loads > rung.loads)
    return { kind: "too many loads", text: "memory", count: mine.loads, needed: rung.loads };
  if (mine.staged > rung.staged)
    return { kind: "too many loads", text: "tile", count: mine.staged, needed: rung.staged };
  const apart = [0, 1].find((which) => mine.pieces[which] > rung.pieces[which]);
  if (neighbours && apart !== undefined)
    return { kind: "not coalesced", matrix: "AB"[apart], count: mine.pieces[apart], needed: rung.pieces[apart] };
  return mine.between < rung.between ? { kind: "waits" } : null;
}
