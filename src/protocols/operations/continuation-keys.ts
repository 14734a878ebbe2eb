import { continuationKeysOfInput, responseContinuationKey } from '../responses/continuation-keys.ts';
import type { BodyFields } from './fields.ts';

/** Returns keys for what the request refers to: a stored response, or encrypted content that only its provider can read. */
export function continuationKeysOf(fields: BodyFields): string[] {
  const responseId = fields.optionalText('previous_response_id');
  const input = fields.member('input');
  return [
    ...(responseId === null ? [] : [responseContinuationKey(responseId)]),
    ...(input === undefined ? [] : continuationKeysOfInput(fields.bytes, input.valueStart, input.valueEnd)),
  ];
}
