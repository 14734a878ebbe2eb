import type { GatewayError } from '../errors/gateway-error.ts';
import { AtATime } from '../lib/fair/at-a-time.ts';
import { type Part, partOf, partOfRate, WHOLE } from '../lib/part.ts';
import { debtAfter, overMs, type Rate } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/** Refusals that are sent without delay: this many at once, and this many per second. */
export const REFUSALS_PER_SECOND = 100;
const RATE = { burst: REFUSALS_PER_SECOND, everyMs: 1_000 / REFUSALS_PER_SECOND };
/** Maximum delay of a refusal, and how long the same refusal is repeated from memory. */
export const HELD_MS_MAX = 1_000;
/** Maximum number of delayed refusals of one subject. Further refusals are sent at once and close the connection. */
const HELD_MAX_EACH = 500;
/** Maximum number of delayed refusals of all subjects. */
const HELD_MAX = 2_000;
/** Maximum number of remembered subjects. Above it, the one with the oldest refusal is forgotten. */
const SUBJECTS_MAX = 10_000;
/** Maximum number of remembered refusals of a subject. Above it, the oldest one is forgotten. */
const REMEMBERED_MAX = 16;

/**
 * Delays the refusals of a subject that exceeds a rate, by up to a second, and repeats the same refusal from memory without a query. A
 * subject is an account, or an address from which somebody guesses credentials.
 */
export class RefusalThrottle {
  readonly #nowMs: () => number;
  readonly #rate: Rate;
  readonly #heldEach: AtATime;
  readonly #heldMax: number;
  readonly #subjects = rememberRecent<Subject>(SUBJECTS_MAX);
  #held = 0;

  /** `nowMs`: a monotonic clock. `part`: this process's share of the rate and of delayed refusals. */
  constructor(nowMs: () => number, part: Part = WHOLE) {
    this.#nowMs = nowMs;
    this.#rate = partOfRate(RATE, part);
    this.#heldEach = new AtATime(partOf(HELD_MAX_EACH, part));
    this.#heldMax = partOf(HELD_MAX, part);
  }

  /**
   * Counts a refusal with the weight `cost`. Resolves when it can be sent: with false if too many are delayed, so that it is sent at once
   * and the caller should close the connection.
   */
  async hold(name: string, cost: number): Promise<boolean> {
    const subject = this.#subjectOf(name);
    const nowMs = this.#nowMs();
    const repaidAtMs = debtAfter(subject.repaidAtMs, this.#rate, nowMs, cost);
    const aheadMs = overMs(repaidAtMs, this.#rate, nowMs);
    const heldMs = Math.min(aheadMs, HELD_MS_MAX);
    // Limits the debt to a burst plus what the longest delay repays.
    subject.repaidAtMs = repaidAtMs - (aheadMs - heldMs);
    if (heldMs <= 0) return true;
    const leave = this.#held < this.#heldMax ? this.#heldEach.take(name) : null;
    if (leave === null) return false;
    this.#held++;
    await new Promise((resolve) => setTimeout(resolve, heldMs));
    leave();
    this.#held--;
    return true;
  }

  get held(): number {
    return this.#held;
  }

  isSaturated(name: string): boolean {
    return this.#held >= this.#heldMax || this.#heldEach.isFull(name);
  }

  /** Remembers a refusal of a subject and the place in the code that caused it. */
  remember(name: string, place: string, error: GatewayError): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined) return;
    const isTooOften = overMs(subject.repaidAtMs, this.#rate, this.#nowMs()) >= 0;
    if (!isTooOften || this.recall(name, place) !== null) return;
    // Every refusal is remembered for a second, so the oldest one expires first.
    subject.refusals ??= new Map();
    subject.refusals.delete(place);
    subject.refusals.set(place, { error, untilMs: this.#nowMs() + HELD_MS_MAX });
    if (subject.refusals.size > REMEMBERED_MAX) subject.refusals.delete(subject.refusals.keys().next().value!);
  }

  /** Returns the refusal that the subject got at this place within the last second; `null`: none. */
  recall(name: string, place: string): GatewayError | null {
    const refusal = this.#subjects.get(name)?.refusals?.get(place);
    return refusal !== undefined && this.#nowMs() < refusal.untilMs ? refusal.error : null;
  }

  /** Call this when a change may affect refusals of a subject. */
  forget(name: string): void {
    this.#subjects.get(name)?.refusals?.clear();
  }

  /** Call this when a change may affect refusals of any subject. */
  forgetAll(): void {
    for (const subject of this.#subjects.values()) subject.refusals?.clear();
  }

  #subjectOf(name: string): Subject {
    let subject = this.#subjects.get(name);
    if (subject === undefined) {
      subject = { repaidAtMs: 0, refusals: null };
      this.#subjects.set(name, subject);
    }
    return subject;
  }
}

interface Subject {
  /** When the debt of the subject is repaid; see `debtAfter`. */
  repaidAtMs: number;
  refusals: Map<string, { readonly error: GatewayError; readonly untilMs: number }> | null;
}
