import { createHook } from 'node:async_hooks';
import { type Profiler, type Runtime, Session } from 'node:inspector/promises';
import { PerformanceObserver } from 'node:perf_hooks';
import { isTarget, replyToOrders } from './orders.ts';

/**
 * Loaded into a gateway before its own code (`node --import`), in place of the meter. Samples allocations or CPU of its main thread
 * between two orders.
 */

export interface AttributeOrder {
  /** What to sample from now on. Without it, ends sampling and replies with the samples. */
  readonly begin?: 'bytes' | 'cpu' | 'counts' | 'calls';
}

/** A place in the code: the function itself, and the nearest file of the program that called it. */
export interface Part {
  readonly name: string;
  readonly file: string;
  readonly caller: string;
  /** Bytes, microseconds, or number of calls. */
  readonly amount: number;
}

export interface Attributed {
  /** All threads. */
  readonly cpuMicros: number;
  readonly mainMicros: number;
  readonly collectedMs: number;
  readonly parts: readonly Part[];
  readonly counts: Readonly<Record<string, number>>;
}

const SAMPLE_BYTES = 16 * 1024;
const SAMPLE_MICROS = 500;

const session = new Session();
session.connect();
let collectedMs = 0;
let begunAt = process.threadCpuUsage();
let sampled: AttributeOrder['begin'];
const counts: Record<string, number> = {};
/** Where resources are created, sampled one in seven. A prime, because other intervals would sample the same resource of each call. */
const places: Record<string, number> = {};
const ONE_OF = 7;
Error.stackTraceLimit = 14;
const hook = createHook({
  init(_id, type) {
    counts[type] = (counts[type] ?? 0) + 1;
    if (counts[type] % ONE_OF === 0) places[placeOf(type)] = (places[placeOf(type)] ?? 0) + ONE_OF;
  },
});
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectedMs += duration;
}).observe({ entryTypes: ['gc'] });

if (isTarget) {
  let cpu = process.resourceUsage();
  replyToOrders(async (order: AttributeOrder): Promise<Attributed> => {
    const used = process.resourceUsage();
    const cpuMicros = used.userCPUTime - cpu.userCPUTime + used.systemCPUTime - cpu.systemCPUTime;
    const attributed = await carryOut(order);
    cpu = process.resourceUsage();
    return { cpuMicros, ...attributed };
  });
}

async function carryOut({ begin }: AttributeOrder): Promise<Omit<Attributed, 'cpuMicros'>> {
  const used = process.threadCpuUsage(begunAt);
  const attributed = {
    mainMicros: used.user + used.system,
    collectedMs,
    parts: begin === undefined ? await end() : [],
    counts: { ...counts, ...places },
  };
  if (begin !== undefined) {
    sampled = begin;
    if (begin === 'bytes') {
      await session.post('HeapProfiler.startSampling', {
        samplingInterval: SAMPLE_BYTES,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
    } else if (begin === 'cpu') {
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
      await session.post('Profiler.start');
    } else if (begin === 'calls') {
      await session.post('Profiler.enable');
      await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
      await session.post('Profiler.takePreciseCoverage');
    } else hook.enable();
    collectedMs = 0;
    begunAt = process.threadCpuUsage();
  }
  return attributed;
}

async function end(): Promise<Part[]> {
  hook.disable();
  if (sampled === 'bytes') {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return partsOf(
      profile.head,
      ({ children }) => children,
      ({ selfSize }) => selfSize,
    );
  }
  if (sampled === 'counts') return [];
  if (sampled === 'calls') return callsOf((await session.post('Profiler.takePreciseCoverage')).result);
  const { profile } = await session.post('Profiler.stop');
  return partsOfTime(profile);
}

/** The functions that ran, without top-level module code. */
const callsOf = (scripts: readonly Profiler.ScriptCoverage[]): Part[] =>
  scripts.flatMap(({ url, functions }) =>
    functions
      .map(({ functionName, ranges: [range] }) => ({
        name: `${functionName}@${range!.startOffset}`,
        file: url,
        caller: '',
        amount: range!.count,
      }))
      .filter(({ name, amount }) => amount > 0 && name !== '@0'),
  );

/** The first frame outside Node. */
function placeOf(type: string): string {
  const frames = (new Error().stack ?? '').split('\n').slice(3);
  const frame = frames.find((line) => !line.includes('node:')) ?? '';
  return `${type} ${frame.trim().replace(/file:\S*?\/(src|dist|node_modules)\//, '$1/')}`;
}

function isOwn(url: string): boolean {
  return url !== '' && !url.startsWith('node:') && !url.includes('/node_modules/') && !url.includes('wasm://');
}

/** The places in a profile's tree, each with its own share. */
function partsOf<Node extends { readonly callFrame: Runtime.CallFrame }>(
  root: Node,
  childrenOf: (node: Node) => readonly Node[],
  amountOf: (node: Node) => number,
): Part[] {
  const parts = new Map<string, Part>();
  const visit = (node: Node, callerOfNode: string): void => {
    const { functionName: name, url, lineNumber } = node.callFrame;
    const caller = isOwn(url) ? `${url}:${name}` : callerOfNode;
    const file = `${url}:${lineNumber + 1}`;
    const key = `${name} ${file} ${caller}`;
    const amount = amountOf(node);
    if (amount > 0) parts.set(key, { name, file, caller, amount: (parts.get(key)?.amount ?? 0) + amount });
    for (const child of childrenOf(node)) visit(child, caller);
  };
  visit(root, '');
  return [...parts.values()];
}

function partsOfTime({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Part[] {
  const self = new Map<number, number>();
  for (const [i, id] of samples.entries()) self.set(id, (self.get(id) ?? 0) + Math.max(timeDeltas[i] ?? 0, 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return partsOf(
    nodes[0]!,
    ({ children = [] }) => children.map((id) => byId.get(id)!),
    ({ id }) => self.get(id) ?? 0,
  );
}
