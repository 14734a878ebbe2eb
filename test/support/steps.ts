import { Session } from 'node:inspector';

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

const SOURCE = new URL('../../src/', import.meta.url).href;

/**
 * Counts the steps of code, which are reproducible, unlike its time: how often each block of `src` is entered, and the bytes given to
 * scanning functions of the engine. V8 counts blocks for coverage, so that the code needs no counters.
 */
export class StepCounter {
  readonly #session = new Session();
  #nativeBytes = 0;

  constructor() {
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    this.#takeSteps();
  }

  /** The steps of all runs, whether they throw or not. No code of `src` may run between counts: it would be part of the next one. */
  count(runs: readonly (() => unknown)[]): number {
    this.#nativeBytes = 0;
    const restore = this.#watchNative();
    for (const run of runs) {
      try {
        run();
      } catch {
        // Other tests check why a body is refused.
      }
    }
    restore();
    return this.#nativeBytes + this.#takeSteps();
  }

  /** The steps since the last time. Takes milliseconds, whatever was run. */
  #takeSteps(): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as { result: readonly ScriptCoverage[] };
    return result.reduce((steps, script) => steps + stepsOf(script), 0);
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Counts bytes of strings that are created or searched. */
  #watchNative(): () => void {
    const undo: (() => void)[] = [];
    const watch = <Name extends string>(
      target: Readonly<Record<Name, unknown>>,
      name: Name,
      bytesOf: (self: Buffer, given: readonly unknown[], result: unknown) => number,
    ): void => {
      const original = target[name] as (...given: unknown[]) => unknown;
      const counter = this;
      const replacement = function (this: Buffer, ...given: unknown[]): unknown {
        const result: unknown = original.apply(this, given);
        counter.#nativeBytes += bytesOf(this, given, result);
        return result;
      };
      Object.defineProperty(target, name, { value: replacement, configurable: true, writable: true });
      undo.push(() => Object.defineProperty(target, name, { value: original, configurable: true, writable: true }));
    };
    const lengthOf = (_: unknown, __: unknown, result: unknown): number => (result as string).length;
    watch(Buffer.prototype, 'toString', lengthOf);
    for (const name of ['indexOf', 'includes'] as const) watch(Buffer.prototype, name, forward);
    watch(Buffer.prototype, 'lastIndexOf', (self, [, from = self.length], result) => Number(from) - Number(result));
    watch(Buffer.prototype, 'compare', (_, [other]) => (other as Buffer).length);
    watch(JSON, 'parse', (_, [text]) => (text as string).length);
    for (const name of ['startsWith', 'endsWith', 'includes'] as const) {
      watch(String.prototype, name, (self) => self.length);
    }
    return () => {
      for (const restore of undo) restore();
    };
  }

  #post(method: string, params: object = {}): unknown {
    let reply: unknown;
    this.#session.post(method, params, (error, result) => {
      if (error !== null) throw error;
      reply = result;
    });
    return reply;
  }
}

function forward(self: Buffer, [, from = 0]: readonly unknown[], result: unknown): number {
  const end = typeof result === 'number' && result !== -1 ? result : self.length;
  return Math.max(0, end - Number(from));
}

function stepsOf({ url, functions }: ScriptCoverage): number {
  if (!url.startsWith(SOURCE)) return 0;
  let steps = 0;
  for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  return steps;
}
