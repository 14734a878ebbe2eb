import { parseJson } from '../../lib/json/json.ts';
import type { JsonCapture } from '../../lib/json/json-capture.ts';
import type { ReadResponse } from './response.ts';

/** The members of a response that were kept and counted while it passed, read without parsing all of it. */
export class CapturedResponse implements ReadResponse {
  readonly #capture: JsonCapture;

  constructor(capture: JsonCapture) {
    this.#capture = capture;
  }

  member(name: string): unknown {
    const value = this.#capture.value(name);
    return value === undefined ? undefined : parseJson(value.toString('utf8'));
  }

  count(name: string): number | null {
    return this.#capture.count(name);
  }

  holding(group: string): number {
    return this.#capture.holding(group);
  }
}
