// Is it right? Products of fresh numbers, ragged sizes first, each element against float64; and what is wrong is named.
// The names of findings are those of helpers/judge.
import { NOTES, counting, counts, missed, pointed } from "./count.js";
import { CANARY, GUARD, Work, bounded, grid, withoutComments } from "./run.js";

export const PLACEHOLDER = "your turn";
// Higham's bound is for rounding to the nearest, u = 2**-24; WGSL leaves open which neighbour a result is rounded to.
const ROUNDOFF = 2 ** -23;
const SAMPLES = 48; // elements that a suspicion is tried on
const range = (n) => [...Array(n).keys()];

/** Fresh float32 numbers in [-1, 1): of many, a prime number that is repeated, so that no two rows are alike. */
export function draw(size) {
  const some = Float32Array.from({ length: Math.min(size, 65521) }, () => 2 * Math.random() - 1);
  const all = new Float32Array(size);
  for (let at = 0; at < size; at += some.length) all.set(some.subarray(0, size - at), at);
  return all;
}

/** One element of the product of a(row, k) and b(k, col): [its sum over k from `first` to `last`, its bound]. */
function element(a, b, row, col, first, last) {
  let sum = 0,
    size = 0;
  for (let k = first; k < last; k++) {
    const product = a(row, k) * b(k, col);
    sum += product;
    size += Math.abs(product);
  }
  const rounded = (last - first) * ROUNDOFF;
  return [sum, (rounded / (1 - rounded)) * size];
}

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
    const rounded = K * ROUNDOFF;
    for (let at = 0; at < M * N; at++) this.bound[at] *= rounded / (1 - rounded);
    this.wrong = range(M * N).filter((at) => !this.near(at));
  }

  a = (row, k) => this.A[row * this.K + k] ?? 0;
  b = (k, col) => this.B[k * this.N + col] ?? 0;
  get shape() {
    return `${this.M} x ${this.N} x ${this.K}`;
  }
  at(place) {
    return `C[${Math.floor(place / this.N)}, ${place % this.N}]`;
  }
  near(at, of = at) {
    return Math.abs(this.C[at] - this.right[of]) <= this.bound[of];
  }

  /** Whether C is, wherever `elements` says, the product of a and b over k from `first` to `last`. */
  holds(a, b, first = 0, last = this.K, elements = some(range(this.C.length))) {
    return elements.every((at) => {
      const [sum, bound] = element(a, b, Math.floor(at / this.N), at % this.N, first, last);
      return Math.abs(this.C[at] - sum) <= bound;
    });
  }
}

/** So many of them as are tried, spread over all. */
const some = (all) =>
  all.length <= SAMPLES ? all : range(SAMPLES).map((n) => all[Math.floor(((n + 0.5) * all.length) / SAMPLES)]);

/** One launch of the kernel at that size; `swapped`: with the workgroups that C's transpose would get. */
async function launched(
  gpu,
  kernel,
  [M, N, K],
  { A = draw(M * K), B = draw(K * N), fill = CANARY, swapped = false } = {},
) {
  const work = await Work.on(gpu, M, N, K, kernel.notes);
  try {
    work.putAll(A, B, fill);
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
  if (report.right) report.barriers = tooFewBarriers(one.source);
  if (report.right && one.rung) await look(gpu, one, report, next);
  const nothing = ["zeros", "nothing stored"].includes(report.findings[0]?.kind);
  if (nothing && one.source.includes(PLACEHOLDER)) report.findings = [{ kind: "not yet" }];
  return report;
}

/** A launch of one tile and some rounds, counted; null for what compiles, and not with its notes. */
async function noted(gpu, one) {
  const kernel = await gpu.build(one, counting).catch((error) => {
    if (error.kind !== "does not compile") throw error;
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
    rung = await noted(gpu, { ...one, source: one.rung }),
    found = rung && (pointed(one.source) ?? missed(counts, rung.counts, one.neighbours));
  if (!rung) return;
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
    const [sum, bound] = element(
      (i, k) => A[i * K + k],
      (k, j) => B[k * N + j],
      row,
      col,
      0,
      K,
    );
    return Math.abs(C[row * N + col] - sum) <= bound;
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

/** How many barriers there are, if less than two and workgroup memory is used; else null. */
function tooFewBarriers(source) {
  const code = withoutComments(source),
    count = code.match(/\bworkgroupBarrier\s*\(/g)?.length ?? 0;
  const names = [...code.matchAll(/var\s*<\s*workgroup\s*>\s*(\w+)/g)].map(([, name]) => name);
  return count < 2 && names.some((name) => code.split(new RegExp(`\\b${name}\\b`)).length > 2) ? count : null;
}

/** What the wrong elements of all launches have in common: the first suspicion that fits. */
async function diagnose(gpu, kernel, launches, next) {
  const bad = launches.filter(({ wrong }) => wrong.length);
  for (const suspicion of SUSPICIONS) {
    await next();
    const finding = await suspicion({
      gpu,
      bad,
      launches,
      kernel,
      last: bad.at(-1),
      first: bad[0],
      again: (launch, how) =>
        launched(gpu, kernel, [launch.M, launch.N, launch.K], { A: launch.A, B: launch.B, ...how }),
    });
    if (finding) return finding;
  }
  const { shape, wrong } = bad[0];
  return { kind: "wrong numbers", shape, place: bad[0].at(wrong[0]), right: launches.length - bad.length };
}

/** Where all that is wrong lies: "rows" or "columns" if only in the last tile's share of them, and C has others. */
function edge(launches, kernel, wrong) {
  for (const [axis, name] of ["rows", "columns"].entries()) {
    const side = kernel.choice.tile[axis];
    const begins = launches.map(({ M, N }) => {
      const n = axis ? N : M;
      return n - (n % side || 1);
    });
    const inside = launches.every((launch, i) =>
      wrong(launch).every((at) => (axis ? at % launch.N : Math.floor(at / launch.N)) >= begins[i]),
    );
    if (begins.some(Boolean) && inside) return name;
  }
  return null;
}

const holes = ({ C }) => range(C.length).filter((at) => C[at] === CANARY);

// In this order: each looks at what the ones before it did not explain.
const SUSPICIONS = [
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
  function readsTheGuard({ bad }) {
    const poisoned = bad.findLast(({ C }) => C.some(Number.isNaN));
    return poisoned && { kind: "out of bounds", text: "reads", shape: poisoned.shape };
  },
  async function leavesHoles({ bad, again, kernel }) {
    const open = bad.filter((launch) => holes(launch).length);
    if (!open.length) return null;
    const { shape } = open.at(-1);
    const swapped = [];
    for (const launch of bad) swapped.push(await again(launch, { swapped: true }));
    if (!swapped.some(({ wrong }) => wrong.length)) return { kind: "x and y swapped", shape };
    if (bad.some((launch) => launch.wrong.length > holes(launch).length))
      return { kind: "wrong index", text: "store", shape };
    return {
      kind: "unwritten",
      text: edge(open, kernel, holes) ?? "part",
      shape,
      place: open.at(-1).at(holes(open.at(-1))[0]),
    };
  },
  function transposed({ bad }) {
    const square = bad.filter(({ M, N }) => M === N && M > 1);
    const turned = ({ C, N, ...launch }, self) =>
      range(C.length).every((at) => self.near(at, (at % N) * N + Math.floor(at / N)));
    return square.length && square.every((launch) => turned(launch, launch)) && { kind: "transposed" };
  },
  async function lacksBarriers({ kernel, gpu }) {
    // An exercise is counted: who has two tiles in turn is right with one barrier a round.
    const launch = kernel.one?.rung && (await noted(gpu, kernel.one));
    if (launch) return raced(launch);
    const count = tooFewBarriers(kernel.source);
    return count !== null && { kind: "race", count };
  },
  function sumsAPart({ bad, kernel }) {
    const depth = kernel.choice.tile[2];
    if (!bad.some(({ C }) => C.some(Boolean))) return null;
    const parts = {
      end: ({ K }) => range(K).map((stop) => [0, stop]),
      last: ({ K }) =>
        [
          [K - 1 - ((K - 1) % depth), K],
          [K - 1, K],
          [0, 0],
        ].slice(K <= depth ? 1 : 0, K % depth ? 3 : 2),
      begin: ({ K }) => [
        [Math.min(depth, K), K],
        [1, K],
      ],
    };
    for (const [text, of] of Object.entries(parts)) {
      const found = bad.map((launch) => of(launch).find(([from, to]) => launch.holds(launch.a, launch.b, from, to)));
      if (found.every(Boolean))
        return { kind: "K is cut", text, from: found.at(-1)[0], to: found.at(-1)[1], K: bad.at(-1).K };
    }
    return null;
  },
  function holdsAnothers({ bad }) {
    for (const kind of ["wrong row", "wrong column", "wrong place"]) {
      let example = null;
      const all = bad.every((launch) =>
        some(launch.wrong).every((at) => {
          const { M, N, C } = launch,
            row = Math.floor(at / N),
            col = at % N;
          const places =
            kind === "wrong row"
              ? range(M).map((i) => i * N + col)
              : kind === "wrong column"
                ? range(N).map((j) => row * N + j)
                : range(M * N);
          const from = places.find((of) => launch.near(at, of));
          // A zero may be near some right number by chance, and says nothing.
          if (from !== undefined && C[at] !== 0) example = { shape: launch.shape, place: launch.at(at), from: launch.at(from) };
          return from !== undefined || C[at] === 0;
        }),
      );
      if (all && example) return { kind, ...example };
    }
    return null;
  },
  function misreads({ bad, last, kernel }) {
    const [rows, columns, depth] = kernel.choice.tile;
    const turned = (X, side) => (i, j) => {
      // each tile's rows are its columns
      const top = i - (i % side),
        left = j - (j % side);
      return X(top + (j - left), left + (i - top));
    };
    const inside = (X, rows, columns) => (i, j) => (i < rows && j < columns ? X(i, j) : 0);
    const read = {
      "A one column too far": (l) => [inside((i, k) => l.a(i, k + 1), l.M, l.K - 1), l.b],
      "B one row too far": (l) => [l.a, inside((k, j) => l.b(k + 1, j), l.K - 1, l.N)],
      ...(rows === depth && { "the tile of A is transposed": (l) => [turned(inside(l.a, l.M, l.K), depth), l.b] }),
      ...(columns === depth && { "the tile of B is transposed": (l) => [l.a, turned(inside(l.b, l.K, l.N), depth)] }),
      "the tile of A stays": (l) => [(i, k) => l.a(i, k % depth), l.b],
      "the tile of B stays": (l) => [l.a, (k, j) => l.b(k % depth, j)],
      "A is transposed": (l) => [(i, k) => l.A[k * l.M + i], l.b],
      "B is transposed": (l) => [l.a, (k, j) => l.B[j * l.K + k]],
      "A has rows of M": (l) => [(i, k) => l.A[i * l.M + k] ?? 0, l.b],
      "A has rows of N": (l) => [(i, k) => l.A[i * l.N + k] ?? 0, l.b],
      "B has rows of M": (l) => [l.a, (k, j) => l.B[k * l.M + j] ?? 0],
      "B has rows of K": (l) => [l.a, (k, j) => l.B[k * l.K + j] ?? 0],
    };
    const text = Object.keys(read).find((what) =>
      bad.every((launch) => launch.holds(...read[what](launch), 0, launch.K, some(launch.wrong))),
    );
    return text && { kind: "wrong index", text, shape: last.shape };
  },
  function atTheEdge({ bad, last, kernel }) {
    const text = edge(bad, kernel, ({ wrong }) => wrong);
    return text && { kind: "edge", text, shape: last.shape };
  },
  function startsOffZero({ bad, last }) {
    const off = bad.map(({ C, right }) => Math.round(C[0] - right[0]));
    const all = off.every(
      (by, i) =>
        by &&
        by === off[0] &&
        bad[i].C.every(
          (value, at) => Math.abs(value - bad[i].right[at] - by) <= 2 * bad[i].bound[at] + 1e-5 * Math.abs(by),
        ),
    );
    return all && { kind: "wrong start", off: off[0], shape: last.shape };
  },
  function addsForMultiplies({ bad }) {
    return (
      bad.every((launch) =>
        some(launch.wrong).every((at) => {
          const row = Math.floor(at / launch.N),
            col = at % launch.N,
            sum = range(launch.K).reduce((all, k) => all + launch.a(row, k) + launch.b(k, col), 0);
          return Math.abs(launch.C[at] - sum) <= 4 * launch.K ** 2 * ROUNDOFF;
        }),
      ) && { kind: "wrong operator" }
    );
  },
  async function differsEachTime({ last, again }) {
    const { C } = await again(last);
    return C.some((value, at) => value !== last.C[at]) && { kind: "race", count: null };
  },
  function partIsZero({ bad, last }) {
    return (
      bad.every(({ C, wrong }) => wrong.every((at) => C[at] === 0)) && {
        kind: "part is zero",
        shape: last.shape,
        place: last.at(last.wrong[0]),
      }
    );
  },
];
