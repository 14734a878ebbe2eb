import type { GatewayError } from '../errors/gateway-error.ts';
import { type Part, partOf, partOfRate, WHOLE } from '../lib/part.ts';
import { debtAfter, overMs, type Rate } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/** Refusals a second that are sent at once; as many may come in a burst. */
export const REFUSALS_PER_SECOND = 100;
const RATE = { burst: REFUSALS_PER_SECOND, everyMs: 1_000 / REFUSALS_PER_SECOND };
/** How long a refusal is delayed at most, and how long it is repeated from memory. */
export const HELD_MS_MAX = 1_000;
/**
 * Refusals that are delayed at a time, of one subject and in all. Beyond that they leave at once, and the connection
 * ends.
 */
const HELD_MAX_EACH = 500;
const HELD_MAX = 2_000;
/** Subjects that are remembered; beyond it the one that was refused least recently is forgotten. */
const SUBJECTS_MAX = 10_000;
/** Refusals that are remembered of one subject; beyond it the oldest is forgotten. */
const REMEMBERED_MAX = 16;

/**
 * Slows down subjects that are refused again and again: an account, or an address that guesses credentials. Beyond a
 * rate their refusals are delayed for up to a second, and the same refusal is repeated from memory, without a query to
 * the database. Only refusals are ever delayed.
 */
export class RefusalBrake {
  readonly #nowMs: () => number;
  readonly #rate: Rate;
  readonly #heldMaxEach: number;
  readonly #heldMax: number;
  readonly #subjects = rememberRecent<Subject>(SUBJECTS_MAX);
  #held = 0;

  /** `nowMs`: any clock that never goes back. `part`: what this process has of the rate, and of what may be delayed. */
  constructor(nowMs: () => number, part: Part = WHOLE) {
    this.#nowMs = nowMs;
    this.#rate = partOfRate(RATE, part);
    this.#heldMaxEach = partOf(HELD_MAX_EACH, part);
    this.#heldMax = partOf(HELD_MAX, part);
  }

  /**
   * Counts a refusal that takes `cost` of the rate. Resolves when it may leave: with false where it leaves at once
   * because too many are delayed already, so that its connection should end.
   */
  async hold(name: string, cost: number): Promise<boolean> {
    const subject = this.#subjectOf(name);
    const nowMs = this.#nowMs();
    const repaidAtMs = debtAfter(subject.repaidAtMs, this.#rate, nowMs, cost);
    const aheadMs = overMs(repaidAtMs, this.#rate, nowMs);
    const heldMs = Math.min(aheadMs, HELD_MS_MAX);
    // The debt beyond the burst is never greater than the longest delay repays.
    subject.repaidAtMs = repaidAtMs - (aheadMs - heldMs);
    if (heldMs <= 0) return true;
    if (subject.held >= this.#heldMaxEach || this.#held >= this.#heldMax) return false;
    subject.held++;
    this.#held++;
    await new Promise((resolve) => setTimeout(resolve, heldMs));
    subject.held--;
    this.#held--;
    return true;
  }

  /** Refusals that are being delayed. */
  get held(): number {
    return this.#held;
  }

  /** Whether no more refusals of a subject can be delayed. */
  isSaturated(name: string): boolean {
    return (this.#subjects.get(name)?.held ?? 0) >= this.#heldMaxEach || this.#held >= this.#heldMax;
  }

  /** Remembers how a subject was refused at a place, if it is refused too often. */
  remember(name: string, place: string, error: GatewayError): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined) return;
    const isTooOften = overMs(subject.repaidAtMs, this.#rate, this.#nowMs()) >= 0;
    if (!isTooOften || this.recall(name, place) !== null) return;
    // Each lives for a second, so the oldest ends first. A flood has a map for each of its subjects: it has to be small.
    subject.refusals ??= new Map();
    subject.refusals.delete(place);
    subject.refusals.set(place, { error, untilMs: this.#nowMs() + HELD_MS_MAX });
    if (subject.refusals.size > REMEMBERED_MAX) subject.refusals.delete(subject.refusals.keys().next().value!);
  }

  /** The refusal that a subject got at a place within the last second; `null` if a new decision is needed. */
  recall(name: string, place: string): GatewayError | null {
    const refusal = this.#subjects.get(name)?.refusals?.get(place);
    return refusal !== undefined && this.#nowMs() < refusal.untilMs ? refusal.error : null;
  }

  /** The reasons to refuse a subject may have changed. */
  forget(name: string): void {
    this.#subjects.get(name)?.refusals?.clear();
  }

  /** The reasons to refuse any subject may have changed. */
  forgetAll(): void {
    for (const subject of this.#subjects.values()) subject.refusals?.clear();
  }

  #subjectOf(name: string): Subject {
    let subject = this.#subjects.get(name);
    if (subject === undefined) {
      subject = { repaidAtMs: 0, held: 0, refusals: null };
      this.#subjects.set(name, subject);
    }
    return subject;
  }
}

interface Subject {
  /** When the rate that its refusals took is there again. */
  repaidAtMs: number;
  /** Refusals that are being delayed. */
  held: number;
  refusals: Map<string, { readonly error: GatewayError; readonly untilMs: number }> | null;
}
