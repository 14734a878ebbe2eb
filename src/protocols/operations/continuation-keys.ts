import { continuationKeysOfInput, responseContinuationKey } from '../responses/continuation-keys.ts';
import type { BodyFields } from './fields.ts';

/**
 * Returns the continuation keys of a responses or compact request. It may refer to a stored response, or contain encrypted content that only the
 * provider that created it can read.
 */
export function continuationKeysOf(fields: BodyFields): string[] {
  const responseId = fields.optionalText('previous_response_id');
  const input = fields.member('input');
  return [
    ...(responseId === null ? [] : [responseContinuationKey(responseId)]),
    ...(input === undefined ? [] : continuationKeysOfInput(fields.bytes, input.valueStart, input.valueEnd)),
  ];
}
