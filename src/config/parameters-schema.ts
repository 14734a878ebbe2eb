import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';
import { listOf, named, section } from './fields.ts';

const JSON_VALUE = 'a JSON value such as 0.7, true, "text" or { "key": 1 }';

/**
 * A value for a member of a request body, as JSON text. The parser reads numbers as text, so a text that is JSON is this JSON: `1` and
 * `"1"` are the number, `'"1"'` is the text. Any other text is a string.
 */
export const jsonValue = z
  .custom<unknown>((value) => value !== undefined && value !== null, { error: JSON_VALUE })
  .transform((value, context): string => {
    const json = jsonOf(value);
    if (json !== null) return json;
    context.addIssue({ code: 'custom', message: 'a number in the form of JSON, such as 0.7' });
    return z.NEVER;
  });

/** Returns the JSON text of a value; `null` for a number that JSON writes in another way, such as `.7`. */
function jsonOf(value: unknown): string | null {
  if (typeof value === 'string') {
    const text = value.trim();
    if (isJson(text)) return text;
    return text !== '' && !Number.isNaN(Number(text)) ? null : JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    const items = value.map(jsonOf);
    return items.includes(null) ? null : `[${items.join(',')}]`;
  }
  if (isRecord(value)) {
    const members = Object.entries(value).map(([key, member]) => [JSON.stringify(key), jsonOf(member)] as const);
    return members.some(([, json]) => json === null) ? null : `{${members.map((pair) => pair.join(':')).join(',')}}`;
  }
  // A member without a value is null.
  return typeof value === 'boolean' ? String(value) : 'null';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const JSON_NUMBER = 'a number of zero or more in the form of JSON, such as 4096 or 0.7';

/** A number as JSON text, so that it is sent as it is written. */
const jsonNumber = z.string({ error: JSON_NUMBER }).regex(/^(0|[1-9]\d{0,15})(\.\d{1,9})?$/, { error: JSON_NUMBER });

const PATH = 'the name of a field such as temperature, or a path such as reasoning.effort';
/** Names of members with dots between them. */
const PARAMETER_PATH = /^[A-Za-z_$][\w$-]{0,63}(\.[A-Za-z_$][\w$-]{0,63}){0,3}$/;

/** Whether a text names a member of a request body: `temperature`, `reasoning.effort`. */
export function isParameterPath(text: string): boolean {
  return PARAMETER_PATH.test(text);
}

/** Changes of request bodies for a provider or a route (`docs/parameters.md`). `parameter-rules.ts` checks the names. */
export const parameters = section({
  set: named('names of fields', jsonValue).optional().describe('Fields that get this value, whatever the client sent.'),
  default: named('names of fields', jsonValue)
    .optional()
    .describe('Fields that get this value if they are absent or null.'),
  remove: listOf('names of fields', z.string({ error: PATH }).refine(isParameterPath, { error: PATH }))
    .optional()
    .describe(
      'Fields that the provider does not get. In translated requests, they are left out as by `dialect.drops`.',
    ),
  max: named('names of fields', jsonNumber)
    .optional()
    .describe('Maximum values of numbers. A greater number is replaced by the maximum.'),
});

export type ParametersConfig = z.infer<typeof parameters>;
