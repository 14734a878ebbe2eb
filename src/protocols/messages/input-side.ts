import { isRecord } from '../../lib/json/json.ts';
import { readCount } from '../metering/usage-facts.ts';

/**
 * The input tokens of a messages stream: input, cache reads and cache writes. Kimi, DashScope and vLLM first report the whole input, and at
 * the end they split it into these counts. The maximum of each count would include tokens twice.
 */
type Fields = Readonly<Record<string, unknown>>;

const INPUT = 'input_tokens';
const READ = 'cache_read_input_tokens';
const WRITTEN = 'cache_creation_input_tokens';
const LIFETIMES = 'cache_creation';
const LONG_LIVED = 'ephemeral_1h_input_tokens';

export const INPUT_SIDE: readonly string[] = [INPUT, READ, WRITTEN, LIFETIMES];

/** Maximum relative difference between two counts of the same input. They can differ by the tokens of a chat template. */
const SAME_INPUT_SHARE = 0.02;

export class InputSide {
  #fields: Fields = {};
  /** The whole input as it was before a report with only cache counts split it. */
  #whole: number | null = null;

  get fields(): Fields {
    return this.#fields;
  }

  /** Takes a report instead of all earlier ones; if its input is unreadable, merges it with them. */
  replace(report: Fields): void {
    const stated = statedOf(report);
    if (stated[INPUT] === undefined || !isReadable(stated)) {
      this.update(report);
      return;
    }
    this.#whole = null;
    this.#fields = this.#withLifetimes(stated, stated);
  }

  /** Merges a report with earlier ones. Of reports that split the input, the latest one counts. */
  update(report: Fields): void {
    const before = this.#fields;
    const stated = statedOf(report);
    if (Object.values(stated).length === 0) return;
    if (Object.keys(before).length === 0 || !isReadable(before) || !isReadable(stated)) {
      this.#fields = isReadable(stated) || !isReadable(before) ? { ...before, ...stated } : before;
      return;
    }
    const [input, cached] = [countOf(stated, INPUT), cachedOf(stated)];
    const hasInput = before[INPUT] !== undefined || stated[INPUT] !== undefined;
    if (cached === 0) this.#takeWhole(input);
    else if (input === 0) this.#takeCache(stated);
    else this.#takeTuple(stated);
    if (!hasInput) this.#fields = { ...this.#fields, [INPUT]: undefined };
  }

  /** Merges an input without cache counts. It either grows with each round of provider tools, or repeats the sum of all counts. */
  #takeWhole(input: number): void {
    const before = this.#fields;
    const isSum = cachedOf(before) > 0 && isAbout(input, totalOf(before));
    if (input >= countOf(before, INPUT) && !isSum) this.#fields = { ...before, [INPUT]: input };
    // This input includes the cache counts of earlier reports.
    else if (before[INPUT] === undefined) this.#fields = { ...before, [INPUT]: Math.max(input - cachedOf(before), 0) };
  }

  /** Merges cache counts without an input. They are part of the earlier input, unless that was split already or is smaller. */
  #takeCache(stated: Fields): void {
    const before = this.#fields;
    if (this.#whole === null && cachedOf(before) === 0) this.#whole = countOf(before, INPUT);
    const { [INPUT]: _, ...cache } = withGreatest(before, stated);
    const cached = cachedOf(cache);
    const whole = this.#whole;
    const isPart = whole !== null && (cached <= whole || isAbout(cached, whole));
    const input = isPart ? Math.max(whole - cached, 0) : (whole ?? countOf(before, INPUT));
    this.#fields = { ...cache, [INPUT]: input };
  }

  #takeTuple(stated: Fields): void {
    const before = this.#fields;
    this.#whole = null;
    const tuple = this.#withLifetimes({ ...before, ...stated }, stated);
    const falls = totalOf(tuple) < totalOf(before) && !isAbout(totalOf(tuple), totalOf(before));
    this.#fields = falls ? { ...tuple, ...realWhereZero(before, stated) } : tuple;
  }

  /** Keeps how long cache writes live, often only in the first report, up to the latest total of writes. */
  #withLifetimes(tuple: Fields, stated: Fields): Fields {
    const written = readCount(stated[WRITTEN]);
    if (written == null || stated[LIFETIMES] !== undefined) return tuple;
    return { ...tuple, [LIFETIMES]: lifetimesWithin(this.#fields, written) };
  }
}

function statedOf(report: Fields): Fields {
  return Object.fromEntries(INPUT_SIDE.flatMap((name) => (report[name] == null ? [] : [[name, report[name]]])));
}

/** Returns earlier cache counts in place of zeros, for a report whose sum is lower than before. */
function realWhereZero(before: Fields, stated: Fields): Fields {
  const names = cachedOf(before) === 0 ? [] : [READ, WRITTEN].filter((name) => readCount(stated[name]) === 0);
  return Object.fromEntries(
    [...names, ...(names.includes(WRITTEN) ? [LIFETIMES] : [])].map((name) => [name, before[name]]),
  );
}

function lifetimesWithin(before: Fields, written: number): Fields {
  const lifetimes = isRecord(before[LIFETIMES]) ? before[LIFETIMES] : {};
  return { [LONG_LIVED]: Math.min(readCount(lifetimes[LONG_LIVED]) ?? 0, written) };
}

function withGreatest(before: Fields, stated: Fields): Fields {
  const greatest = (name: string): number => Math.max(countOf(before, name), countOf(stated, name));
  const lifetimes = stated[LIFETIMES] ?? before[LIFETIMES];
  return {
    [READ]: greatest(READ),
    [WRITTEN]: greatest(WRITTEN),
    ...(lifetimes !== undefined && { [LIFETIMES]: lifetimes }),
  };
}

/** Whether all values are counts. Otherwise the usage is unreadable until a later report replaces it. */
function isReadable(fields: Fields): boolean {
  return [INPUT, READ, WRITTEN].every((name) => readCount(fields[name]) !== undefined);
}

function countOf(fields: Fields, name: string): number {
  return readCount(fields[name]) ?? 0;
}

function cachedOf(fields: Fields): number {
  const lifetimes = isRecord(fields[LIFETIMES]) ? fields[LIFETIMES] : {};
  const byLifetime = Object.values(lifetimes).reduce((sum: number, value) => sum + (readCount(value) ?? 0), 0);
  return countOf(fields, READ) + Math.max(countOf(fields, WRITTEN), byLifetime);
}

function totalOf(fields: Fields): number {
  return countOf(fields, INPUT) + cachedOf(fields);
}

function isAbout(left: number, right: number): boolean {
  return Math.abs(left - right) <= Math.max(left, right) * SAME_INPUT_SHARE;
}
