import { parseJson } from '../../lib/json/json.ts';
import type { JsonCapture } from '../../lib/json/json-capture.ts';
import type { ReadResponse } from './response.ts';

/** The members of a response that were kept and counted while it passed, read without parsing all of it. */
export function capturedResponse(capture: JsonCapture): ReadResponse {
  return {
    member(name) {
      const value = capture.value(name);
      return value === undefined ? undefined : parseJson(value.toString('utf8'));
    },
    count: (name) => capture.count(name),
    holding: (group) => capture.holding(group),
  };
}
