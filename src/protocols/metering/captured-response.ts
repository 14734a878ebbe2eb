import { parseJson } from '../../lib/json/json.ts';
import { JsonCapture, type JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
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

  isMarked(name: string): boolean {
    return this.#capture.isMarked(name);
  }

  count(name: string): number | null {
    return this.#capture.count(name);
  }

  holding(group: string): number {
    return this.#capture.holding(group);
  }
}

/** The members of a response, or of the data of an event, that is there as a whole; `null`: it is no JSON object. */
export function captureWhole(bytes: Buffer, options: JsonCaptureOptions): CapturedResponse | null {
  const capture = new JsonCapture(options);
  try {
    capture.push(bytes);
    capture.end();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
  return capture.rootKind === 'object' ? new CapturedResponse(capture) : null;
}
