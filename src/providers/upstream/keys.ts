import { KeyFileError, type NamedKey, readKeyFile } from '../../config/provider-keys.ts';

/**
 * The keys of the operator's account at a provider. They are used by turns. One that the provider refuses is left out for a
 * while; one that has had too many calls of a model rests for that model. A key that is refused or rests is used all the
 * same where there is no other one.
 */

/** How long a key that the provider has refused is left out while there are others. */
export const REFUSED_KEY_MS = 10 * 60_000;
/** The longest rest after a 429, whatever the provider says. */
export const REST_MS_MAX = 60_000;

/** A key as an operator sees it: without its value. */
export interface KeyStanding {
  readonly name: string;
  readonly file: string | null;
  readonly state: 'active' | 'resting' | 'refused';
  /** The status with which the provider refused it. */
  readonly status: number | null;
  readonly triedAgainAtMs: number | null;
}

interface KeyState extends NamedKey {
  refusal: { readonly status: number; readonly atMs: number } | null;
  /** When its rests end, by the provider's name of the model. */
  rests: Map<string, number>;
}

export class ProviderKeys {
  readonly #readFile: (path: string) => string;
  readonly #onKey: (value: string) => void;
  #keys: KeyState[] = [];
  #turn = 0;

  /** `onKey` gets the value of each key before it is used, so that it can be kept out of messages. */
  constructor(keys: readonly NamedKey[], onKey: (value: string) => void, readFile = readKeyFile) {
    this.#onKey = onKey;
    this.#readFile = readFile;
    this.replace(keys);
  }

  /** Takes over the keys of a configuration. Those that were refused are tried again; rests go on. */
  replace(keys: readonly NamedKey[]): void {
    const before = this.#keys;
    this.#keys = [];
    for (const key of keys) {
      // Two files may hold the same key while they are exchanged one after the other.
      if (this.#find(key.value) !== undefined) continue;
      this.#onKey(key.value);
      const rests = before.find(({ value }) => value === key.value)?.rests ?? new Map<string, number>();
      this.#keys.push({ ...key, refusal: null, rests });
    }
  }

  /**
   * The value of the key to be used next for a call of the model, which has tried some already; `null` where no other
   * one is left. `mayRest`: also one that rests.
   */
  next(model: string, tried: readonly string[], mayRest: boolean, nowMs: number): string | null {
    const count = this.#keys.length;
    for (let i = 0; i < count; i++) {
      const at = (this.#turn + i) % count;
      const key = this.#keys[at]!;
      if (tried.includes(key.value) || isLeftOut(key, nowMs) || restsUntilMs(key, model) > nowMs) continue;
      this.#turn = (at + 1) % count;
      return key.value;
    }
    const untried = this.#keys.filter(({ value }) => !tried.includes(value));
    const resting = untried.filter((key) => !isLeftOut(key, nowMs));
    if (resting.length > 0) {
      return mayRest ? firstBy(resting, (key) => restsUntilMs(key, model)).value : null;
    }
    // All are refused: the call tries the one for which that is known longest, and no other.
    return tried.length > 0 ? null : firstBy(untried, ({ refusal }) => refusal!.atMs).value;
  }

  /** Whether every key that is not left out rests for the model. */
  isResting(model: string, nowMs: number): boolean {
    return this.restsUntilMs(model, nowMs) > nowMs;
  }

  /** When the first key that is not left out has rested for the model; 0 where all are left out. */
  restsUntilMs(model: string, nowMs: number): number {
    let untilMs = Number.POSITIVE_INFINITY;
    for (const key of this.#keys) {
      if (!isLeftOut(key, nowMs)) untilMs = Math.min(untilMs, restsUntilMs(key, model));
    }
    return untilMs === Number.POSITIVE_INFINITY ? 0 : untilMs;
  }

  /**
   * The provider has refused a key. One from a file is read again: where it has been exchanged, the new key is used at
   * once, also before the configuration is reloaded.
   */
  refused(value: string, status: number, nowMs: number): void {
    const key = this.#find(value);
    // It has been exchanged since the call began.
    if (key === undefined) return;
    const inFile = this.#readAgain(key);
    if (inFile === value || this.#find(inFile) !== undefined) {
      key.refusal = { status, atMs: nowMs };
      return;
    }
    this.#onKey(inFile);
    this.#keys[this.#keys.indexOf(key)] = { ...key, value: inFile, refusal: null, rests: new Map() };
  }

  /** The provider has accepted a key in a call that was sent then. */
  accepted(value: string, sentAtMs: number): void {
    const key = this.#find(value);
    // A long stream may end well although its key was withdrawn meanwhile.
    if (key?.refusal != null && key.refusal.atMs <= sentAtMs) key.refusal = null;
  }

  /** A key has had too many calls of the model, and rests for some time. */
  rest(value: string, model: string, restMs: number, nowMs: number): void {
    const rests = this.#find(value)?.rests;
    if (rests === undefined) return;
    for (const [other, untilMs] of rests) {
      if (untilMs <= nowMs) rests.delete(other);
    }
    rests.set(model, nowMs + Math.min(restMs, REST_MS_MAX));
  }

  standing(model: string, nowMs: number): KeyStanding[] {
    return this.#keys.map((key) => {
      const { name, file, refusal } = key;
      if (isLeftOut(key, nowMs)) {
        const triedAgainAtMs = refusal!.atMs + REFUSED_KEY_MS;
        return { name, file, state: 'refused', status: refusal!.status, triedAgainAtMs };
      }
      const untilMs = restsUntilMs(key, model);
      if (untilMs > nowMs) return { name, file, state: 'resting', status: 429, triedAgainAtMs: untilMs };
      return { name, file, state: 'active', status: null, triedAgainAtMs: null };
    });
  }

  /** The name of a key, for the log; `null` where it has been exchanged. */
  nameOf(value: string): string | null {
    return this.#find(value)?.name ?? null;
  }

  #find(value: string): KeyState | undefined {
    return this.#keys.find((key) => key.value === value);
  }

  #readAgain({ file, value }: KeyState): string {
    if (file === null) return value;
    try {
      return this.#readFile(file);
    } catch (error) {
      if (error instanceof KeyFileError) return value;
      throw error;
    }
  }
}

function isLeftOut({ refusal }: KeyState, nowMs: number): boolean {
  return refusal !== null && nowMs < refusal.atMs + REFUSED_KEY_MS;
}

function restsUntilMs({ rests }: KeyState, model: string): number {
  return rests.get(model) ?? 0;
}

function firstBy(keys: readonly KeyState[], order: (key: KeyState) => number): KeyState {
  return keys.reduce((first, key) => (order(key) < order(first) ? key : first));
}
