import type { z } from 'zod';

/** Describes a problem: the expected value and, if it is short, the one that was received. */
export function issueText(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'too_big':
      return `At most ${issue.maximum}${boundOf(issue.origin, issue.input)}.`;
    case 'too_small':
      return `At least ${issue.minimum}${boundOf(issue.origin, issue.input)}.`;
    case 'invalid_value':
      return `Expected ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}${sentText(issue.input)}.`;
    case 'invalid_type':
      if (issue.input === undefined) return 'Is missing.';
      return `Expected ${EXPECTED[issue.expected] ?? issue.expected}${sentText(issue.input)}.`;
    case 'unrecognized_keys':
      return 'Unknown field.';
    default:
      return undefined;
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

function boundOf(origin: string, input: unknown): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' items' : sentText(input);
}

/** Maximum length of a value that is quoted. A longer one could be secret. */
const SHOWN_LENGTH_MAX = 20;

function sentText(input: unknown): string {
  const isShown =
    typeof input === 'boolean' ||
    (typeof input === 'number' && !Number.isNaN(input)) ||
    (typeof input === 'string' && input.length <= SHOWN_LENGTH_MAX && /^[\w.:+-]+$/.test(input));
  return isShown ? `, not ${JSON.stringify(input)}` : '';
}
