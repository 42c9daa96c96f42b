// A contest on one GPU: build, check, choose a size, time in turns. What happens is told to `tell`, which draws it.
import { check, draw, spot } from "./check.js";
import { CANARY, Gpu, Trouble, Work, chooseSize, grid, launchCost, launchesFor, quantile, transfers } from "./run.js";

/** A reader pressed the stop button. */
export class Stopped extends Error {}

// A contest is decided as in helpers/clock: who is ahead is so in each of nine rounds, by a margin.
export const ROUNDS = 9;
const MARGIN = 0.05;

/** Median seconds, the middle half, and rates made from them; `spread` is half the middle half, as a share. */
export function figures(times, n) {
  const [seconds, low, high] = [0.5, 0.25, 0.75].map((part) => quantile(times, part));
  const rate = (each) => (2 * n ** 3) / each / 1e9;
  return { times, seconds, rate: rate(seconds), from: rate(high), to: rate(low), spread: (high - low) / seconds / 2 };
}

/** How many times as fast as another it was, round by round, in the middle; null if that is undecided. */
export function beside(mine, other) {
  const ratios = mine.times.map((time, round) => other.times[round] / time);
  const apart = mine.from > other.to || other.from > mine.to;
  const ahead = ratios.every((ratio) => ratio >= 1 + MARGIN);
  const behind = ratios.every((ratio) => ratio <= 1 / (1 + MARGIN));
  return ratios.length >= ROUNDS && apart && (ahead || behind) ? quantile(ratios, 0.5) : null;
}

/**
 * Run it. `contestants`: {name, source, step, own}. `tell`: {gpu(gpu), phase(name, values), state(one, name, values),
 * report(one, report), judged(one, report) when no check of it is left, progress(part), facts(values),
 * figures(one, figures), stopped()}. Returns what was measured.
 */
export async function contest(contestants, tell) {
  const next = async () => {
    await new Promise((go) => setTimeout(go)); // the page draws, and takes clicks, between any two pieces of work
    if (tell.stopped()) throw new Stopped();
  };
  tell.phase("opening");
  const gpu = await Gpu.open();
  let now = contestants[0],
    work;
  try {
    tell.gpu(gpu);
    tell.phase("checking");
    const racers = await checked(gpu, contestants, tell, next, (one) => {
      now = one;
    });
    if (!racers.length) return tell.phase("none");

    tell.phase("sizing");
    tell.progress(0);
    const launch = await launchCost(gpu, racers[0].kernel);
    const size = await chooseSize(
        gpu,
        racers.map(({ kernel }) => kernel),
        launch,
        next,
      ),
      shape = [size, size, size];
    work = await Work.on(gpu, ...shape);
    const [A, B] = [draw(size * size), draw(size * size)],
      mark = new Float32Array(size * size).fill(CANARY);
    tell.phase("spot");
    work.putAll(A, B);
    for (const one of [...racers]) {
      now = one.of;
      tell.state(now, "spot");
      work.put("C", mark, CANARY);
      await work.launch(one.kernel);
      if (await spot(A, B, await work.download(), shape, next)) {
        tell.state(now, "right");
        tell.judged(now, one.report);
        continue;
      }
      const finding = { kind: "wrong at one size", shape: shape.join(" x ") };
      refuse(tell, now, { right: false, findings: [finding] });
      racers.splice(racers.indexOf(one), 1);
    }
    if (!racers.length) return tell.phase("none");

    const least = racers
      .map(({ kernel }) => ({ name: kernel.name, blocks: grid(kernel, size, size).reduce((a, b) => a * b) }))
      .reduce((a, b) => (b.blocks < a.blocks ? b : a));
    const moved = await transfers(gpu, work, A, B);
    let clock = null;
    for (let round = 0; round < ROUNDS; round++) {
      if (clock !== gpu.clock) {
        // at first, and where the GPU's clock turns out to be none: all is timed by one clock
        do {
          clock = gpu.clock;
          for (const one of racers)
            Object.assign(one, { times: [], launches: await launchesFor(work, one.kernel, launch) });
        } while (clock !== gpu.clock);
        round = 0;
        tell.facts({ size, clock, least, launch, ...moved });
        tell.phase("timing", { rounds: ROUNDS });
      }
      for (const one of round % 2 ? [...racers].reverse() : racers) {
        // so that nobody always comes after the same one
        await next();
        now = one.of;
        tell.state(now, "timing");
        one.times.push((await work.launch(one.kernel, one.launches)).seconds / one.launches);
        tell.figures(now, figures([...one.times], size));
      }
      if (clock !== gpu.clock) round = -1;
      tell.progress((round + 1) / ROUNDS);
    }
    for (const one of racers) tell.state(one.of, "right");
    tell.phase("done", { right: racers.length, all: contestants.length, size, rounds: ROUNDS });
    return { size, clock, racers };
  } catch (error) {
    if (error instanceof Trouble) error.detail = { name: now.name, ...error.detail };
    error.of = now;
    throw error;
  } finally {
    work?.free();
    gpu.close();
  }
}

/** It is wrong: that is told, and nothing more is checked of it. */
function refuse(tell, one, report) {
  tell.report(one, report);
  tell.judged(one, report);
}

/** Those that are right, built. What is wrong, or does not compile, is told; a reader's own then ends the contest. */
async function checked(gpu, contestants, tell, next, begin) {
  const racers = [],
    total = contestants.length;
  for (const [at, one] of contestants.toSorted((a, b) => !!b.own - !!a.own).entries()) {
    begin(one);
    tell.state(one, "building");
    await next();
    try {
      const kernel = await gpu.build(one),
        shapes = kernel.choice.stages.flat().length;
      let done = 0;
      tell.state(one, "checking");
      const report = await check(gpu, one, async (shape) => {
        if (shape) tell.progress((at + done++ / shapes) / total);
        await next();
      });
      if (!report.right) refuse(tell, one, report);
      else {
        tell.report(one, report);
        racers.push({ of: one, kernel, report });
      }
    } catch (error) {
      if (error.kind !== "does not compile") throw error;
      refuse(tell, one, { right: false, findings: [{ kind: "does not compile", ...error.detail }] });
    }
    if (one.own && !racers.length) return [];
  }
  return racers.sort((a, b) => contestants.indexOf(a.of) - contestants.indexOf(b.of));
}
