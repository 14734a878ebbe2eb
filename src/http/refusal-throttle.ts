import type { GatewayError } from '../errors/gateway-error.ts';
import { AtATime } from '../lib/fair/at-a-time.ts';
import { type Part, partOf, partOfRate, WHOLE } from '../lib/part.ts';
import { debtAfter, overMs, type Rate } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/** Refusals per second, and in a burst, that are sent without delay. */
export const REFUSALS_PER_SECOND = 100;
const RATE = { burst: REFUSALS_PER_SECOND, everyMs: 1_000 / REFUSALS_PER_SECOND };
/** The longest delay of a refusal, and the time for which it is repeated from memory. */
export const HELD_MS_MAX = 1_000;
/** Refusals that are delayed at a time, of one subject and of all. Further ones are sent at once, and close the connection. */
const HELD_MAX_EACH = 500;
const HELD_MAX = 2_000;
/** Beyond this number, the subject that was refused least recently is forgotten. */
const SUBJECTS_MAX = 10_000;
/** Beyond this number of refusals of one subject, the oldest is forgotten. */
const REMEMBERED_MAX = 16;

/**
 * Throttles subjects that are refused too often: an account, or an address that guesses credentials. Beyond a rate, their
 * refusals are delayed for up to a second, and the same refusal is repeated from memory without a database query. Nothing
 * but refusals is delayed.
 */
export class RefusalThrottle {
  readonly #nowMs: () => number;
  readonly #rate: Rate;
  readonly #heldEach: AtATime;
  readonly #heldMax: number;
  readonly #subjects = rememberRecent<Subject>(SUBJECTS_MAX);
  #held = 0;

  /** `nowMs`: a monotonic clock. `part`: this process's share of the rate and of the delayed refusals. */
  constructor(nowMs: () => number, part: Part = WHOLE) {
    this.#nowMs = nowMs;
    this.#rate = partOfRate(RATE, part);
    this.#heldEach = new AtATime(partOf(HELD_MAX_EACH, part));
    this.#heldMax = partOf(HELD_MAX, part);
  }

  /**
   * Counts a refusal that takes `cost` of the rate. Resolves when it may be sent: with false if it is not delayed because
   * too many already are, so that the caller should close the connection.
   */
  async hold(name: string, cost: number): Promise<boolean> {
    const subject = this.#subjectOf(name);
    const nowMs = this.#nowMs();
    const repaidAtMs = debtAfter(subject.repaidAtMs, this.#rate, nowMs, cost);
    const aheadMs = overMs(repaidAtMs, this.#rate, nowMs);
    const heldMs = Math.min(aheadMs, HELD_MS_MAX);
    // The debt beyond the burst is at most what the longest delay repays.
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

  /** Refusals that are currently delayed. */
  get held(): number {
    return this.#held;
  }

  /** Whether no more refusals of a subject can be delayed. */
  isSaturated(name: string): boolean {
    return this.#held >= this.#heldMax || this.#heldEach.isFull(name);
  }

  /** Remembers the refusal of a subject at a place, if the subject exceeds the rate. */
  remember(name: string, place: string, error: GatewayError): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined) return;
    const isTooOften = overMs(subject.repaidAtMs, this.#rate, this.#nowMs()) >= 0;
    if (!isTooOften || this.recall(name, place) !== null) return;
    // All are remembered for a second, so the oldest expires first. A flood of subjects has many of these maps, so they must be small.
    subject.refusals ??= new Map();
    subject.refusals.delete(place);
    subject.refusals.set(place, { error, untilMs: this.#nowMs() + HELD_MS_MAX });
    if (subject.refusals.size > REMEMBERED_MAX) subject.refusals.delete(subject.refusals.keys().next().value!);
  }

  /** The refusal of a subject at a place within the last second; `null` if a new decision is needed. */
  recall(name: string, place: string): GatewayError | null {
    const refusal = this.#subjects.get(name)?.refusals?.get(place);
    return refusal !== undefined && this.#nowMs() < refusal.untilMs ? refusal.error : null;
  }

  /** Call this when a change may affect the refusals of a subject. */
  forget(name: string): void {
    this.#subjects.get(name)?.refusals?.clear();
  }

  /** Call this when a change may affect the refusals of any subject. */
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
  /** See `debtAfter`. */
  repaidAtMs: number;
  refusals: Map<string, { readonly error: GatewayError; readonly untilMs: number }> | null;
}
