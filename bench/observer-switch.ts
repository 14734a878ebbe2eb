import { setTimeout as sleep } from 'node:timers/promises';
import { isTarget, replyToOrders } from './orders.ts';
import { type Replacement, replaceOnLoad } from './replace-on-load.ts';

/**
 * Loaded into a gateway before its own code (`node --import`), in place of the meter. Switches the observers of requests (log, records of
 * refusals, metrics) on and off during calls, and measures the cost of a call, so that both halves have the same process, the same
 * compiled code and the same machine load.
 */
export interface SwitchOrder {
  readonly pairs: number;
  /** How long each half of a pair is measured. */
  readonly sliceMs: number;
}

/** CPU of the process per call, in µs. */
export interface SwitchedPair {
  readonly on: number;
  readonly off: number;
}

/** The time in which pending writes of the half before complete. */
const SETTLED_AFTER_MS = 60;
const SWITCH = Symbol.for('faregate.bench.switch');

const given = `globalThis[Symbol.for('${SWITCH.description}')]`;
/** The wiring of observers, which the switch wraps. */
export const SWITCHED: readonly Replacement[] = [
  {
    file: 'app/gateway.ts',
    code: 'const metrics = createMetrics();',
    by: `const metrics = ${given}.metrics(createMetrics());`,
  },
  {
    file: 'app/gateway.ts',
    code: 'observers: requestObservers,',
    by: `observers: ${given}.requests(requestObservers),`,
  },
];

/** The observers that the gateway gets: its own, or none. */
type Observers = Record<string, unknown>;
type Observe = (...args: unknown[]) => void;

let isOn = true;
let calls = 0;

function switched(value: unknown): unknown {
  if (typeof value === 'function') {
    const observe = value as Observe;
    return (...args: unknown[]) => {
      if (isOn) observe(...args);
    };
  }
  return Object.fromEntries(Object.entries(value as Observers).map(([name, part]) => [name, switched(part)]));
}

const gatewaySwitch = {
  metrics: <Metrics extends { observers: unknown }>(metrics: Metrics): Metrics => ({
    ...metrics,
    observers: switched(metrics.observers),
  }),
  requests: (observers: readonly unknown[]): unknown[] => [() => calls++, ...observers.map(switched)],
};

if (isTarget) {
  Reflect.set(globalThis, SWITCH, gatewaySwitch);
  replaceOnLoad(SWITCHED);
  replyToOrders(measure);
}

async function measure({ pairs, sliceMs }: SwitchOrder): Promise<SwitchedPair[]> {
  const measured: SwitchedPair[] = [];
  for (let i = 0; i < pairs; i++) {
    // The order within pairs alternates.
    const isOnFirst = i % 2 === 0;
    const [first, second] = [await slice(isOnFirst, sliceMs), await slice(!isOnFirst, sliceMs)];
    measured.push(isOnFirst ? { on: first, off: second } : { on: second, off: first });
  }
  return measured;
}

async function slice(isObserved: boolean, sliceMs: number): Promise<number> {
  isOn = isObserved;
  await sleep(SETTLED_AFTER_MS);
  const callsBefore = calls;
  const start = process.cpuUsage();
  await sleep(sliceMs);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / (calls - callsBefore);
}
