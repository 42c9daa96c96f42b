// A GPU, reached by WebGPU: opened, given kernels to build, launched, timed. What it has to say is page.js's to word.

// Behind each matrix, inside its buffer, lies a guard: WebGPU clamps what reaches beyond a buffer, and would hide it.
export const GUARD = 1 << 16;
export const CANARY = Math.fround(-6.2831853e37); // what C is full of before a launch; no sum of ours is so large
const SECONDS = 10; // that a wait may take, by default; browsers end a GPU's process that is busy for longer
const ROUNDS = 20000; // of one loop, in a check: no loop of a kernel needs so many at the sizes that are checked
const LONGEST = 0.1; // seconds a launch, at most: so says the size that is chosen
const LARGEST = 4096; // three such matrices fit the least that a buffer holds anywhere

/** What went wrong with the device, or with a kernel before it ran. `kind` names it, `detail` is for its words. */
export class Trouble extends Error {
  constructor(kind, detail = {}) {
    super(`${kind} ${JSON.stringify(detail)}`);
    Object.assign(this, { kind, detail });
  }
}

/** WGSL with spaces for its comments, so that all else stands where it stood. */
export const withoutComments = (source) =>
  source.replace(/\/\/[^\n]*|\/\*[^]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "));

/** The source with `= T()` where a function declares a variable of type T with no value: some compilers set it once. */
const zeroed = (source) => source.replace(/\bvar(\s+\w+\s*:\s*)([^;=\n]+);/g, "var$1$2 = $2();");

/** The source with a count in each loop, which ends it after ROUNDS rounds and notes its line. No line moves. */
export function bounded(source) {
  const code = withoutComments(source);
  let text = "",
    done = 0,
    own = "loop_cut"; // no name of the source's own
  while (code.includes(own)) own += "_";
  for (const { 0: head, index } of code.matchAll(/(@\w+\s*\([^)]*\)\s*)*\b(for|while|loop)\b/g)) {
    let at = index + head.length;
    for (let depth = 0; at < code.length && (depth > 0 || code[at] !== "{"); at++)
      depth += (code[at] === "(") - (code[at] === ")");
    const line = code.slice(0, at).split("\n").length,
      rounds = `${own}_${index}`;
    text += `${source.slice(done, index)}var ${rounds} = 0u; ${source.slice(index, at + 1)}`;
    text += ` ${rounds}++; if (${rounds} > ${ROUNDS}u) { ${own} = ${line}u; break; }`;
    done = at + 1;
  }
  return `${text}${source.slice(done)}\n@group(0) @binding(4) var<storage, read_write> ${own}: u32;\n`;
}

export class Gpu {
  static async open() {
    if (!globalThis.isSecureContext) throw new Trouble("not secure");
    if (!navigator.gpu) throw new Trouble("no WebGPU");
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new Trouble("no adapter");
    const wanted = [
      "maxComputeWorkgroupStorageSize",
      "maxComputeInvocationsPerWorkgroup",
      "maxComputeWorkgroupSizeX",
      "maxComputeWorkgroupSizeY",
    ];
    try {
      return new Gpu(
        adapter,
        await adapter.requestDevice({
          requiredFeatures: ["timestamp-query"].filter((name) => adapter.features.has(name)),
          requiredLimits: Object.fromEntries(wanted.map((name) => [name, adapter.limits[name]])),
        }),
      );
    } catch (error) {
      throw new Trouble("no device", { message: error.message });
    }
  }

  constructor(adapter, device) {
    const { vendor, architecture, description, isFallbackAdapter } = adapter.info ?? {};
    this.device = device;
    this.seconds = SECONDS;
    this.name = description || [vendor, architecture].filter(Boolean).join(" ");
    this.software = isFallbackAdapter ?? /swiftshader|llvmpipe/i.test(this.name);
    this.clock = device.features.has("timestamp-query") ? "stamps" : "wall";
    this.gone = device.lost.then(({ message }) => {
      throw (this.lost = new Trouble("lost", { message }));
    });
    this.gone.catch(() => {}); // who waits for it gets it
    const types = ["read-only-storage", "read-only-storage", "storage", "uniform", "storage"];
    const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
    this.groups = device.createBindGroupLayout({ entries });
    this.layout = device.createPipelineLayout({ bindGroupLayouts: [this.groups] });
  }

  /** What the promise brings; Trouble if the device is lost first, or the time is over: then the device goes, too. */
  async settled(promise, seconds = this.seconds) {
    let timer;
    const late = new Promise((_, refuse) => {
      timer = setTimeout(() => refuse(new Trouble("slow", { seconds })), 1000 * seconds);
    });
    try {
      return await Promise.race([promise, this.gone, late]);
    } catch (error) {
      if (error.kind === "slow") this.close();
      if (error instanceof Trouble) throw error;
      // A lost device also refuses what was asked of it; the loss is the cause, and may be told a moment later.
      const later = new Promise((_, refuse) => setTimeout(() => refuse(error), 300));
      return await Promise.race([this.gone, later]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What `ask` returns; Trouble where the device finds fault with what it asked, or has no memory for it. */
  async scoped(ask) {
    if (this.lost) throw this.lost;
    for (const filter of ["validation", "out-of-memory"]) this.device.pushErrorScope(filter);
    const answer = ask();
    const memory = this.device.popErrorScope(),
      validation = this.device.popErrorScope();
    if (await this.settled(memory)) throw new Trouble("memory");
    const fault = await this.settled(validation);
    if (fault) throw new Trouble("refused", { message: fault.message });
    return answer;
  }

  /** A step of the ladder, or one's own kernel with a step's launch. Trouble "does not compile", with lines, if not. */
  async build({ name, source, step, own }, changed = (code) => code) {
    const choice = step.choices.findLast(
      ({ shared_bytes, threads }) =>
        shared_bytes <= this.device.limits.maxComputeWorkgroupStorageSize &&
        threads <= this.device.limits.maxComputeInvocationsPerWorkgroup,
    );
    if (!choice) throw new Trouble("too small");
    // On the first line, so that the compiler's line numbers are those of the source.
    const constants = Object.entries(choice.parameters)
      .map(([key, value]) => `const ${key} = ${value}; `)
      .join("");
    const entries = [...withoutComments(source).matchAll(/@compute\b[^{]*?\bfn\s+(\w+)/g)];
    if (entries.length !== 1) throw new Trouble("does not compile", { entries: entries.length, errors: [] });
    const code = changed(own ? zeroed(source) : source); // a rung fills what it declares in a loop
    this.device.pushErrorScope("validation");
    const module = this.device.createShaderModule({ code: constants + code });
    const asked = this.device.createComputePipelineAsync({
      layout: this.layout,
      compute: { module, entryPoint: entries[0][1] },
    });
    asked.catch(() => {});
    const { messages } = await this.settled(module.getCompilationInfo());
    await this.device.popErrorScope();
    const errors = messages
      .filter(({ type }) => type === "error")
      .map(({ message, lineNum }) => ({ message, line: lineNum }));
    if (errors.length) throw new Trouble("does not compile", { errors });
    try {
      return { name, source, step, choice, pipeline: await this.settled(asked) };
    } catch (error) {
      if (error instanceof Trouble) throw error;
      throw new Trouble("does not compile", { errors: [{ message: error.message.split("\n")[0], line: 0 }] });
    }
  }

  close() {
    this.device.destroy();
  }
}

/** Workgroups along x, y and z that cover C, and no more. */
export function grid({ step, choice: { tile } }, M, N) {
  const down = Math.ceil(M / tile[0]),
    across = Math.ceil(N / tile[1]);
  return step.x_along === "rows" ? [down, across, 1] : [across, down, 1];
}

/** A, B and C on the GPU, with a guard behind each, ready for launch after launch. */
export class Work {
  /** `notes`: words of the buffer in which a kernel whose text was changed leaves what it has to say. */
  static async on(gpu, M, N, K, notes = 4) {
    return gpu.scoped(() => new Work(gpu, M, N, K, notes));
  }

  constructor(gpu, M, N, K, notes) {
    Object.assign(this, { gpu, M, N, K });
    const { device } = gpu,
      { STORAGE, COPY_SRC, COPY_DST, UNIFORM, MAP_READ, QUERY_RESOLVE } = GPUBufferUsage;
    const buffer = (size, usage) => device.createBuffer({ size, usage });
    // In fours, for kernels that load four numbers at a time.
    const matrix = (size) => buffer(Math.ceil((size + GUARD) / 4) * 16, STORAGE | COPY_SRC | COPY_DST);
    [this.A, this.B, this.C] = [M * K, K * N, M * N].map(matrix);
    this.sizes = buffer(16, UNIFORM | COPY_DST);
    this.cut = buffer(4 * notes, STORAGE | COPY_SRC | COPY_DST);
    this.read = buffer(this.C.size, MAP_READ | COPY_DST);
    this.few = buffer(16, MAP_READ | COPY_DST);
    this.stamps = buffer(16, QUERY_RESOLVE | COPY_SRC);
    this.queries = gpu.clock === "stamps" ? device.createQuerySet({ type: "timestamp", count: 2 }) : null;
    device.queue.writeBuffer(this.sizes, 0, new Uint32Array([M, N, K, 0]));
    const entries = [this.A, this.B, this.C, this.sizes, this.cut].map((buffer, binding) => ({
      binding,
      resource: { buffer },
    }));
    this.bound = device.createBindGroup({ layout: gpu.groups, entries });
  }

  /** Put a matrix into its buffer, and its guard behind it. */
  put(name, X, behind) {
    const { queue } = this.gpu.device,
      left = this[name].size / 4 - X.length;
    queue.writeBuffer(this[name], 0, X);
    queue.writeBuffer(this[name], 4 * X.length, new Float32Array(left).fill(behind));
  }

  /** Fresh operands, with `behind` behind them, and a C that is full of `fill`. */
  putAll(A, B, fill = CANARY, behind = NaN) {
    this.put("A", A, behind);
    this.put("B", B, behind);
    this.put("C", new Float32Array(this.M * this.N).fill(fill), CANARY);
    this.gpu.device.queue.writeBuffer(this.cut, 0, new Uint32Array(4));
  }

  /** Launch so many times, and wait. Seconds of all: by the GPU's own stamps if it has some; and by the wall. */
  async launch(kernel, count = 1, groups = grid(kernel, this.M, this.N)) {
    const { device } = this.gpu,
      stamped = this.queries && this.gpu.clock === "stamps";
    const start = await this.gpu.scoped(() => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass(
        (stamped && {
          timestampWrites: { querySet: this.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
        }) ||
          {},
      );
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, this.bound);
      for (let n = 0; n < count; n++) pass.dispatchWorkgroups(...groups);
      pass.end();
      if (stamped) encoder.resolveQuerySet(this.queries, 0, 2, this.stamps, 0);
      encoder.copyBufferToBuffer(stamped ? this.stamps : this.cut, 0, this.few, 0, 16);
      const commands = encoder.finish(),
        now = performance.now();
      device.queue.submit([commands]);
      this.asked = this.few.mapAsync(GPUMapMode.READ);
      this.asked.catch(() => {});
      return now;
    });
    await this.gpu.settled(this.asked);
    const wall = (performance.now() - start) / 1000;
    const [from, to] = stamped ? new BigUint64Array(this.few.getMappedRange()) : [0n, 0n];
    this.few.unmap();
    const stamps = Number(to - from) * 1e-9;
    // Some drivers write stamps that cannot be: then the wall is the clock, from here on.
    if (stamped && !(stamps >= 0 && stamps < wall + 0.001)) this.gpu.clock = "wall";
    return { wall, seconds: this.gpu.clock === "stamps" ? stamps : wall };
  }

  /** What lies in a buffer now. */
  async download(name = "C") {
    const from = this[name],
      size = Math.min(from.size, this.read.size),
      { device } = this.gpu;
    await this.gpu.scoped(() => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(from, 0, this.read, 0, size);
      device.queue.submit([encoder.finish()]);
      this.asked = this.read.mapAsync(GPUMapMode.READ);
      this.asked.catch(() => {});
    });
    await this.gpu.settled(this.asked);
    const found = this.read.getMappedRange(0, size).slice(0);
    this.read.unmap();
    return name === "C" ? new Float32Array(found) : new Uint32Array(found);
  }

  free() {
    for (const each of [this.A, this.B, this.C, this.sizes, this.cut, this.read, this.few, this.stamps]) each.destroy();
    this.queries?.destroy();
  }
}

/** Seconds of the wall from asking for a launch that does nearly nothing to its end: the median of some. */
export async function launchCost(gpu, kernel) {
  const work = await Work.on(gpu, 1, 1, 1),
    walls = [];
  work.putAll(new Float32Array(1), new Float32Array(1));
  for (let n = 0; n < 9; n++) walls.push((await work.launch(kernel)).wall);
  work.free();
  return quantile(walls, 0.5);
}

/** The largest n, in doublings, at which one launch of none of the kernels is expected to take long. */
export async function chooseSize(gpu, kernels, cost, next) {
  for (let n = 64; ; n *= 2) {
    const work = await Work.on(gpu, n, n, n);
    let slowest = 0;
    for (const kernel of kernels) {
      await next();
      await work.launch(kernel); // the first is slow in other ways
      slowest = Math.max(slowest, (await work.launch(kernel)).wall - cost); // by the one clock that never stands still
    }
    work.free();
    // Twice the size takes eight times as long, and more where a cache is outgrown.
    if (n >= LARGEST || 8 * slowest > LONGEST) return n;
  }
}

/** How many launches are timed together: stamps may be rounded to 0.1 ms, and the wall's clock holds a wait. */
export async function launchesFor(work, kernel, cost) {
  const enough = work.gpu.clock === "stamps" ? 0.04 : Math.min(1, Math.max(0.15, 20 * cost));
  for (let count = 1; ;) {
    const { seconds, wall } = await work.launch(kernel, count);
    // Where the GPU's clock has not moved all that time, it has none.
    if (seconds < 0.001 && wall - cost > 0.2) work.gpu.clock = "wall";
    const more = enough / Math.max(seconds, 1e-6);
    if (more < 1.2 || count >= 1000 || wall - cost > Math.max(0.2, enough)) return count;
    count = Math.min(1000, Math.ceil(count * Math.min(4, more))); // in steps, since the first launches may mislead
  }
}

/** Seconds of the wall that it takes to move A and B to the GPU, and C back. */
export async function transfers(gpu, work, A, B) {
  const { queue } = gpu.device,
    start = performance.now();
  queue.writeBuffer(work.A, 0, A);
  queue.writeBuffer(work.B, 0, B);
  await gpu.settled(queue.onSubmittedWorkDone());
  const middle = performance.now();
  await work.download();
  return { upload: (middle - start) / 1000, download: (performance.now() - middle) / 1000 };
}

/** What lies so far along the sorted numbers, 0 to 1, as NumPy's percentile has it. */
export function quantile(numbers, part) {
  const sorted = [...numbers].sort((a, b) => a - b),
    at = part * (sorted.length - 1),
    low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}
