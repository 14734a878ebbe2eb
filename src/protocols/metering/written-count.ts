import { hasBytes } from '../../lib/json/json-string.ts';
import { DataRuns } from './data-runs.ts';
import {
  ENCRYPTED,
  FIRST_REASONING,
  NONE,
  type PathNode,
  TEXT,
  type Verdict,
  type WrittenRules,
} from './written-paths.ts';

/** Encrypted reasoning is base64 of about as many bytes as its text has. */
const OPAQUE_SHARE = 3 / 4;
/** Longer tells are not taken. */
export const TELL_BYTES_MAX = 64;
/** `{}` and `[]`. */
const EMPTY_BYTES = 2;
const SEVERAL = -2;

/** The size of what a model wrote, by counter; what is in an object counts once that is judged. */
export class WrittenCount {
  /** The texts that came, and the last one of them: its place in the bytes, its counter and its run. */
  texts = 0;
  textStart = 0;
  textEnd = 0;
  #textCounter = NONE;
  #textRun = NONE;
  #textBytes = 0;
  readonly #rules: WrittenRules;
  readonly #bytes: number[];
  readonly #pending: number[];
  /** The counter that has something pending; `NONE`: none, `SEVERAL`: more than one. */
  #pendingIn = NONE;
  readonly #tells: (string | null)[];
  #hasTells = false;
  /** The tells that came last: most events have the same ones. */
  readonly #lastTells: string[];
  readonly #runs: (DataRuns | undefined)[];
  /** What a counter had before a container that counts as a whole. */
  #before = 0;
  /** The counter that got all of what was pending in the last object that had some; `NONE`: not all of it, or several did. */
  #writtenIn = NONE;
  #writtenBytes = 0;

  constructor(rules: WrittenRules) {
    const { counters, tells, runs } = rules.paths;
    this.#rules = rules;
    this.#bytes = new Array(counters).fill(0);
    this.#pending = new Array(counters).fill(0);
    this.#tells = new Array(tells).fill(null);
    this.#lastTells = new Array(tells).fill('');
    this.#runs = new Array(runs).fill(undefined);
  }

  /** The pictures that stand in the text as base64. */
  get pictures(): number {
    return this.#runs.reduce((sum, run) => sum + (run?.pictures ?? 0), 0);
  }

  /** The bytes of the text, and of the reasoning as far as it is seen or is known by what is encrypted. */
  get sizeBytes(): number {
    return this.#sizeWith(OPAQUE_SHARE);
  }

  /** Without what is encrypted. */
  get visibleBytes(): number {
    return this.#sizeWith(0);
  }

  #sizeWith(opaqueShare: number): number {
    const bytes = this.#pendingIn === NONE ? this.#bytes : this.#withPending();
    let reasoning = Math.floor(bytes[ENCRYPTED]! * opaqueShare);
    for (let counter = FIRST_REASONING; counter < bytes.length; counter++) {
      reasoning = Math.max(reasoning, bytes[counter]!);
    }
    return bytes[TEXT]! + reasoning;
  }

  /** With what is pending, judged by what has come of it. */
  #withPending(): readonly number[] {
    const verdict = this.#verdict();
    return this.#bytes.map((sizeBytes, counter) => sizeBytes + this.#judged(counter, verdict));
  }

  /** What of the pending bytes a counter gets. */
  #judged(counter: number, verdict: Verdict): number {
    const pending = this.#pending;
    if (verdict === 'none') return 0;
    if (verdict === 'written' || counter === ENCRYPTED) return pending[counter]!;
    if (counter === TEXT || verdict === 'encrypted') return 0;
    return pending[counter]! + (counter === FIRST_REASONING ? pending[TEXT]! : 0);
  }

  /** Counts a piece of a text, without the pictures in it. */
  addText(counter: number, run: number, bytes: Buffer, start: number, end: number, sizeBytes: number): void {
    this.texts++;
    this.textStart = start;
    this.textEnd = end;
    this.#textCounter = counter;
    this.#textRun = run;
    this.#textBytes = sizeBytes;
    if (run === NONE) {
      this.add(counter, sizeBytes);
      return;
    }
    const runs = this.#runs[run] ?? new DataRuns();
    this.#runs[run] = runs;
    this.add(counter, sizeBytes - runs.dataIn(bytes, start, end));
  }

  /** Whether the last object that had some text counts as having all of the last text and nothing else, and a next one like it would. */
  get hasWrittenText(): boolean {
    const isInPicture = this.#textRun !== NONE && this.#runs[this.#textRun]?.isOpen === true;
    return this.#writtenIn === this.#textCounter && this.#writtenBytes === this.#textBytes && !isInPicture;
  }

  /** Counts the text of an object like the last one. */
  addWritten(sizeBytes: number): void {
    this.#bytes[this.#writtenIn]! += sizeBytes;
  }

  add(counter: number, sizeBytes: number): void {
    this.#pending[counter]! += sizeBytes;
    if (this.#pendingIn !== counter) this.#pendingIn = this.#pendingIn === NONE ? counter : SEVERAL;
  }

  /** A container that counts as a whole begins. */
  containerBegins({ counter }: PathNode): void {
    this.#before = this.#pending[counter]!;
  }

  /** ... and has ended; an empty one is nothing. */
  containerEnds(counter: number): void {
    if (this.#pending[counter] === this.#before + EMPTY_BYTES) this.#pending[counter] = this.#before;
  }

  lacksTell(tell: number): boolean {
    return this.#tells[tell] === null;
  }

  /** Takes the text between two offsets as a tell. */
  tell(tell: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > TELL_BYTES_MAX) return;
    const last = this.#lastTells[tell]!;
    const text = hasBytes(last, bytes, start, end) ? last : bytes.toString('latin1', start, end);
    this.#lastTells[tell] = text;
    this.#tells[tell] = text;
    this.#hasTells = true;
  }

  #verdict(): Verdict {
    return this.#rules.judge?.(this.#tells) ?? 'written';
  }

  /** Decides what of the judged object counts. */
  judge(): void {
    const pendingIn = this.#pendingIn;
    if (pendingIn === NONE && !this.#hasTells) return;
    // Objects in which nothing is written may say what others are.
    const verdict = this.#verdict();
    if (pendingIn >= 0 && verdict === 'written') {
      this.#writtenIn = pendingIn;
      this.#writtenBytes = this.#pending[pendingIn]!;
      this.#bytes[pendingIn]! += this.#writtenBytes;
      this.#pending[pendingIn] = 0;
    } else if (pendingIn !== NONE) {
      this.#writtenIn = NONE;
      for (let counter = 0; counter < this.#bytes.length; counter++) {
        this.#bytes[counter]! += this.#judged(counter, verdict);
      }
      this.#pending.fill(0);
    }
    this.#pendingIn = NONE;
    if (!this.#hasTells) return;
    this.#tells.fill(null);
    this.#hasTells = false;
  }
}
