import type { BodyFields } from './fields.ts';
import type { Splice } from './operation.ts';

/** Returns the change that makes the provider report usage at the end of a stream; `null` if the client asks for it already. */
export function includeUsageSplice(fields: BodyFields): Splice | null {
  const options = fields.optionalObject('stream_options');
  if (options === null) {
    const asNull = fields.member('stream_options');
    if (asNull !== undefined) return { start: asNull.valueStart, end: asNull.valueEnd, text: '{"include_usage":true}' };
    const beforeBrace = fields.end - 1;
    return { start: beforeBrace, end: beforeBrace, text: ',"stream_options":{"include_usage":true}' };
  }
  return options.optionalBoolean('include_usage') === true ? null : options.assignment('include_usage', 'true');
}
