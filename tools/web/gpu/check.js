// Is it right? Products of fresh numbers, ragged sizes first, each element against float64. What is wrong is told in
// numbers, and by a cause only where a mark, a note or another launch shows it.
import { NOTES, counting, counts, missed } from "./count.js";
import { CANARY, GUARD, Work, bounded, grid } from "./run.js";

export const PLACEHOLDER = "your turn";
// Higham's bound is for rounding to the nearest, u = 2**-24; WGSL leaves open which neighbour a result is rounded to.
const ROUNDOFF = 2 ** -23;
const range = (n) => [...Array(n).keys()];

/** Fresh float32 numbers in [-1, 1): of many, a prime number that is repeated, so that no two rows are alike. */
export function draw(size) {
  const some = Float32Array.from({ length: Math.min(size, 65521) }, () => 2 * Math.random() - 1);
  const all = new Float32Array(size);
  for (let at = 0; at < size; at += some.length) all.set(some.subarray(0, size - at), at);
  return all;
}

/** How far a sum of K products may be off that is made in float32; `size`: the sum of their magnitudes. */
const bound = (K, size) => ((K * ROUNDOFF) / (1 - K * ROUNDOFF)) * size;

/** One launch: its sizes, A, B and C, and where C is wrong. */
class Launch {
  constructor(M, N, K, A, B, found) {
    Object.assign(this, { M, N, K, A, B, C: found.subarray(0, M * N) });
    this.guard = found.subarray(M * N, M * N + GUARD);
    this.right = new Float64Array(M * N);
    this.bound = new Float64Array(M * N);
    for (let row = 0; row < M; row++)
      // in this order the numbers of B lie side by side
      for (let k = 0; k < K; k++)
        for (let col = 0, a = A[row * K + k], at = row * N; col < N; col++, at++) {
          const product = a * B[k * N + col];
          this.right[at] += product;
          this.bound[at] += Math.abs(product);
        }
    this.bound = this.bound.map((size) => bound(K, size));
    this.wrong = range(M * N).filter((at) => !this.near(at));
  }

  get shape() {
    return `${this.M} x ${this.N} x ${this.K}`;
  }
  at(place) {
    return `C[${Math.floor(place / this.N)}, ${place % this.N}]`;
  }
  near(at, of = at) {
    return Math.abs(this.C[at] - this.right[of]) <= this.bound[of];
  }
}

/**
 * One launch of the kernel at that size. C is full of `fill`, and `behind` stands behind A and B.
 * `swapped`: with the workgroups that C's transpose would get.
 */
async function launched(
  gpu,
  kernel,
  [M, N, K],
  { A = draw(M * K), B = draw(K * N), fill = CANARY, behind = NaN, swapped = false } = {},
) {
  const work = await Work.on(gpu, M, N, K, kernel.notes);
  try {
    work.putAll(A, B, fill, behind);
    await work.launch(kernel, 1, swapped ? grid(kernel, N, M) : grid(kernel, M, N));
    const launch = new Launch(M, N, K, A, B, await work.download());
    const notes = kernel.watched || kernel.notes ? await work.download("cut") : [0];
    launch.cut = kernel.watched ? notes[0] : 0;
    if (kernel.notes) launch.counts = counts(notes);
    return launch;
  } finally {
    work.free();
  }
}

/** A report on the kernel: {right, shapes, largest, findings}; on an answer to an exercise also {counts, missed}. `next` is awaited before each launch, and may throw. */
export async function check(gpu, one, next, stages) {
  const kernel = await gpu.build(one);
  if (!one.own) return tried(gpu, kernel, next, stages ?? kernel.choice.stages);
  // What a reader wrote may go round for ever: so its loops are counted. Where that does not compile, it goes without.
  const watched = await gpu.build(one, bounded).then(
    (built) => Object.assign(built, { watched: true }),
    (error) => {
      if (error.kind !== "does not compile") throw error;
      return kernel;
    },
  );
  watched.one = one;
  const report = await tried(gpu, watched, next, stages ?? kernel.choice.stages);
  if (report.right && one.rung) await look(gpu, one, report, next);
  const nothing = ["zeros", "nothing stored"].includes(report.findings[0]?.kind);
  if (nothing && one.source.includes(PLACEHOLDER)) report.findings = [{ kind: "not yet" }];
  return report;
}

/** A launch of one tile and some rounds, counted; null for what cannot be counted, or does not compile with its notes. */
async function noted(gpu, one) {
  const kernel = await gpu.build(one, counting).catch((error) => {
    if (!["uncounted", "does not compile"].includes(error.kind)) throw error;
  });
  if (!kernel) return null;
  kernel.notes = NOTES;
  const [rows, columns, depth] = kernel.choice.tile;
  return launched(gpu, kernel, [rows, columns, Math.max(32, 4 * depth)]);
}

const raced = (launch) => launch?.counts.race && { kind: "race", text: "seen", line: launch.counts.race };

/** Beside the rung itself: a race, which is wrong, and what misses the rung's idea. */
async function look(gpu, one, report, next) {
  const mine = await noted(gpu, one);
  if (!mine) return;
  await next();
  const wrong = raced(mine) || (mine.wrong.length && { kind: "wrong at one size", shape: mine.shape });
  if (wrong) return Object.assign(report, { right: false, findings: [wrong] });
  const { shape, counts } = mine,
    rung = await noted(gpu, { ...one, source: one.rung });
  if (!rung) return;
  const found = missed(counts, rung.counts, one.neighbours);
  Object.assign(report, { counts: { ...counts, shape }, missed: found && { ...found, shape } });
}

async function tried(gpu, kernel, next, stages) {
  let shapes = 0,
    largest = [0, 0, 0];
  for (const stage of stages) {
    const launches = [];
    for (const shape of stage) {
      await next(shape);
      const launch = await launched(gpu, kernel, shape);
      if (launch.cut) return { right: false, shapes, largest, findings: [{ kind: "hang", line: launch.cut }] };
      launches.push(launch);
      shapes++;
      largest = largest.map((n, i) => Math.max(n, shape[i]));
    }
    const passed = launches.find(({ guard }) => guard.some((value) => value !== CANARY));
    const findings = passed
      ? [{ kind: "out of bounds", text: "stores", shape: passed.shape }]
      : launches.some(({ wrong }) => wrong.length)
        ? [await diagnose(gpu, kernel, launches, next)]
        : [];
    if (findings.length) return { right: false, shapes, largest, findings };
  }
  return { right: true, shapes, largest, findings: [] };
}

/** Whether rows and columns of a large C that are chosen at random are right. */
export async function spot(A, B, found, [M, N, K], next) {
  const C = found.subarray(0, M * N),
    pick = (n) => range(2).map(() => Math.floor(Math.random() * n));
  const near = (row, col) => {
    let sum = 0,
      size = 0;
    for (let k = 0; k < K; k++) {
      const product = A[row * K + k] * B[k * N + col];
      sum += product;
      size += Math.abs(product);
    }
    return Math.abs(C[row * N + col] - sum) <= bound(K, size);
  };
  const lines = [
    ...pick(M).map((row) => range(N).map((col) => [row, col])),
    ...pick(N).map((col) => range(M).map((row) => [row, col])),
  ];
  for (const line of lines) {
    for (let from = 0; from < line.length; from += 512) {
      // in pieces, so that the page can be used
      await next();
      if (!line.slice(from, from + 512).every(([row, col]) => near(row, col))) return false;
    }
  }
  return found.subarray(M * N, M * N + GUARD).every((value) => value === CANARY);
}

/** What is sure of the wrong elements of all launches; or else which they are. */
async function diagnose(gpu, kernel, launches, next) {
  const bad = launches.filter(({ wrong }) => wrong.length);
  const again = (launch, how) =>
    launched(gpu, kernel, [launch.M, launch.N, launch.K], { A: launch.A, B: launch.B, ...how });
  for (const cause of CAUSES) {
    await next();
    const finding = await cause({ gpu, bad, launches, kernel, again });
    if (finding) return finding;
  }
  const [launch] = bad,
    [first] = launch.wrong;
  return {
    kind: "wrong numbers",
    right: launches.length - bad.length,
    shape: launch.shape,
    count: launch.wrong.length,
    all: launch.C.length,
    place: launch.at(first),
    found: digits(launch.C[first]),
    exact: digits(launch.right[first]),
  };
}

/** A float32 with all its digits. */
const digits = (value) => String(Number(value.toPrecision(9)));

const holes = ({ C }) => range(C.length).filter((at) => C[at] === CANARY);

const CAUSES = [
  function nothing({ launches }) {
    return launches.every(({ C }) => C.every((value) => value === 0)) && { kind: "zeros" };
  },
  async function notOneStored({ launches, bad, again }) {
    if (!launches.every(({ C }) => C.every((value) => value === CANARY))) return null;
    const others = [];
    for (const launch of bad) others.push(await again(launch, { fill: 0 }));
    if (!others.some(({ wrong }) => wrong.length)) return { kind: "adds to C" };
    return !others.some(({ C }) => C.some(Boolean)) && { kind: "nothing stored" };
  },
  async function readsTheGuard({ bad, again }) {
    const poisoned = bad.findLast(({ C }) => C.some(Number.isNaN));
    if (!poisoned) return null;
    const { C } = await again(poisoned, { behind: 0 });
    if (C.some(Number.isNaN)) return null;
    return { kind: "out of bounds", text: "reads", shape: poisoned.shape };
  },
  async function leavesHoles({ bad, again }) {
    const open = bad.findLast((launch) => holes(launch).length);
    if (!open) return null;
    const { shape } = open;
    const swapped = [];
    for (const launch of bad) swapped.push(await again(launch, { swapped: true }));
    if (!swapped.some(({ wrong }) => wrong.length)) return { kind: "x and y swapped", shape };
    const [first, ...rest] = holes(open);
    return { kind: "unwritten", shape, place: open.at(first), count: rest.length + 1, all: open.C.length };
  },
  function transposed({ bad }) {
    const square = bad.filter(({ M, N }) => M === N && M > 1);
    const turned = (launch) =>
      range(launch.C.length).every((at) => launch.near(at, (at % launch.N) * launch.N + Math.floor(at / launch.N)));
    return square.length && square.every(turned) && { kind: "transposed" };
  },
  async function races({ kernel, gpu }) {
    return kernel.one?.rung && raced(await noted(gpu, kernel.one));
  },
  async function differsEachTime({ bad, again }) {
    const last = bad.at(-1);
    const { C } = await again(last);
    return !C.every((value, at) => Object.is(value, last.C[at])) && { kind: "race", text: "differs" };
  },
];
