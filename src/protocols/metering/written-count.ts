import { hasBytes } from '../../lib/json/json-string.ts';
import { DataRuns } from './data-runs.ts';
import {
  ENCRYPTED,
  FIRST_REASONING,
  NONE,
  type PathNode,
  TEXT,
  type TextClass,
  type WrittenRules,
} from './written-paths.ts';

/** Assumed size of a reasoning text, as a share of its encrypted form in base64. */
const OPAQUE_SHARE = 3 / 4;
export const SELECTOR_BYTES_MAX = 64;
const EMPTY_BYTES = 2;
const SEVERAL = -2;

/** Counts text that the model wrote. The text of an object is pending until its selectors show who wrote it. */
export class WrittenCount {
  /** This field and the next five describe the last text. */
  texts = 0;
  textStart = 0;
  textEnd = 0;
  #textCounter = NONE;
  #textRun = NONE;
  #textBytes = 0;
  readonly #rules: WrittenRules;
  readonly #bytes: number[];
  readonly #pending: number[];
  /** The counter that has pending bytes; `NONE`: no counter has, `SEVERAL`: more than one. */
  #pendingIn = NONE;
  readonly #selectors: (string | null)[];
  #hasSelectors = false;
  readonly #lastSelectors: string[];
  readonly #runs: (DataRuns | undefined)[];
  /** Pending bytes before the JSON container that is being counted. */
  #before = 0;
  /** The counter that got all bytes of the last object; `NONE` if several did, or if some bytes did not count. */
  #writtenIn = NONE;
  #writtenBytes = 0;

  constructor(rules: WrittenRules) {
    const { counters, selectors, runs } = rules.paths;
    this.#rules = rules;
    this.#bytes = new Array(counters).fill(0);
    this.#pending = new Array(counters).fill(0);
    this.#selectors = new Array(selectors).fill(null);
    this.#lastSelectors = new Array(selectors).fill('');
    this.#runs = new Array(runs).fill(undefined);
  }

  get pictures(): number {
    return this.#runs.reduce((sum, run) => sum + (run?.pictures ?? 0), 0);
  }

  /** Bytes of text and reasoning. Reasoning counts by its visible text, or else by its encrypted form. */
  get sizeBytes(): number {
    return this.#sizeWith(OPAQUE_SHARE);
  }

  /** Like `sizeBytes`, without encrypted reasoning. */
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

  /** Returns the counts with pending bytes, classified by the selectors that have arrived so far. */
  #withPending(): readonly number[] {
    const textClass = this.#textClass();
    return this.#bytes.map((sizeBytes, counter) => sizeBytes + this.#bytesOf(counter, textClass));
  }

  #bytesOf(counter: number, textClass: TextClass): number {
    const pending = this.#pending;
    if (textClass === 'none') return 0;
    if (textClass === 'written' || counter === ENCRYPTED) return pending[counter]!;
    if (counter === TEXT || textClass === 'encrypted') return 0;
    return pending[counter]! + (counter === FIRST_REASONING ? pending[TEXT]! : 0);
  }

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

  /** Whether the last object had a single text, which counts completely. Similar objects can then be counted by size. */
  get hasWrittenText(): boolean {
    const isInPicture = this.#textRun !== NONE && this.#runs[this.#textRun]?.isOpen === true;
    return this.#writtenIn === this.#textCounter && this.#writtenBytes === this.#textBytes && !isInPicture;
  }

  addWritten(sizeBytes: number): void {
    this.#bytes[this.#writtenIn]! += sizeBytes;
  }

  add(counter: number, sizeBytes: number): void {
    this.#pending[counter]! += sizeBytes;
    if (this.#pendingIn !== counter) this.#pendingIn = this.#pendingIn === NONE ? counter : SEVERAL;
  }

  containerBegins({ counter }: PathNode): void {
    this.#before = this.#pending[counter]!;
  }

  /** Called at the end of a container that counts as JSON. Empty containers do not count. */
  containerEnds(counter: number): void {
    if (this.#pending[counter] === this.#before + EMPTY_BYTES) this.#pending[counter] = this.#before;
  }

  lacksSelector(selector: number): boolean {
    return this.#selectors[selector] === null;
  }

  setSelector(selector: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > SELECTOR_BYTES_MAX) return;
    const last = this.#lastSelectors[selector]!;
    const text = hasBytes(last, bytes, start, end) ? last : bytes.toString('latin1', start, end);
    this.#lastSelectors[selector] = text;
    this.#selectors[selector] = text;
    this.#hasSelectors = true;
  }

  #textClass(): TextClass {
    return this.#rules.classify?.(this.#selectors) ?? 'written';
  }

  endObject(): void {
    const pendingIn = this.#pendingIn;
    if (pendingIn === NONE && !this.#hasSelectors) return;
    // Classifies objects without text too, because the class of later objects can depend on them.
    const textClass = this.#textClass();
    if (pendingIn >= 0 && textClass === 'written') {
      this.#writtenIn = pendingIn;
      this.#writtenBytes = this.#pending[pendingIn]!;
      this.#bytes[pendingIn]! += this.#writtenBytes;
      this.#pending[pendingIn] = 0;
    } else if (pendingIn !== NONE) {
      this.#writtenIn = NONE;
      for (let counter = 0; counter < this.#bytes.length; counter++) {
        this.#bytes[counter]! += this.#bytesOf(counter, textClass);
      }
      this.#pending.fill(0);
    }
    this.#pendingIn = NONE;
    if (!this.#hasSelectors) return;
    this.#selectors.fill(null);
    this.#hasSelectors = false;
  }
}
