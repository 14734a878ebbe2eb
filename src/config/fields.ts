import { z } from 'zod';
import { parseYuan } from '../pricing/yuan.ts';
import { closestName } from './suggest.ts';
import { parseDayRange, parseDurationMs, parseSizeBytes } from './units.ts';

/** The kinds of field that `faregate.yaml` is made of. Each reads the human spelling and gives the unit in its name. */

/** An object that refuses keys it does not know, and says which one was probably meant. */
export function section<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined;
      return (issue.keys as string[]).map((key) => unknownKeyMessage(key, names)).join(' ');
    },
  });
}

function unknownKeyMessage(key: string, names: readonly string[]): string {
  const closest = closestName(key, names);
  return closest === null
    ? `Unknown key "${key}". Known keys here: ${names.join(', ')}.`
    : `Unknown key "${key}". Did you mean "${closest}"?`;
}

/** Text or a plain number, as text: YAML turns an unquoted 4 into a number before anyone can ask. */
const scalarText = z.union([z.string(), z.number().transform(String)], { error: 'Expected text or a number.' });

function parsed<Output>(read: (text: string) => Output | null, expected: string) {
  return scalarText.transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: `"${text}" is not ${expected}.` });
    return z.NEVER;
  });
}

export const durationMs = parsed(parseDurationMs, 'a duration such as 500ms, 10s, 5m or 2h');
export const sizeBytes = parsed(parseSizeBytes, 'a size such as 64MiB, 500KB or 1024');
export const dayRange = parsed(parseDayRange, 'a range of hours such as 09:00-21:00');

/** An amount or a price in yuan, not below zero, as nano-yuan. */
export const amountNano = parsed((text) => {
  const nano = parseYuan(text);
  return nano === null || nano < 0n ? null : nano;
}, 'an amount in yuan such as "4" or "0.30" (at most 9 decimals, not below zero)');

export const port = parsed((text) => {
  const value = Number(text);
  return /^\d{1,5}$/.test(text) && value <= 65_535 ? value : null;
}, 'a port from 0 to 65535');

export const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  parsed(
    (text) => {
      const value = Number(text);
      return /^-?\d+$/.test(text) && value >= min && value <= max ? value : null;
    },
    `a whole number from ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`}`,
  );

/** Text that is not empty; a variable that expands to nothing counts as empty. */
export const text = z.string({ error: 'Expected text.' }).min(1, 'Must not be empty.');

export const timezone = text.refine(isTimezone, {
  error: 'Not a time zone that this system knows (e.g. Asia/Shanghai).',
});

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** An http or https address; answered without a trailing slash. */
export const baseUrl = parsed((value) => {
  if (!URL.canParse(value)) return null;
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') return null;
  return url.href.replace(/\/+$/, '');
}, 'an http or https address without credentials, query or fragment');

/** One name or several, the first one canonical; names go into paths and header names. */
export const protocolNames = z
  .union([z.string().transform((name) => [name]), z.array(z.string()).min(1, 'At least one name is needed.')], {
    error: 'Expected a name or a list of names.',
  })
  .refine((names) => names.every((name) => /^[a-z][a-z0-9-]{0,31}$/.test(name)), {
    error: 'A protocol name is made of lower-case letters, digits and hyphens, and begins with a letter.',
  });
