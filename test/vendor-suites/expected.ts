import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Refusals, Results } from './results.ts';

export interface Expected {
  readonly refusals: Refusals;
  /** By the name of the suite. */
  readonly results: Readonly<Record<string, Results>>;
}

export function readExpected(): Expected {
  return parse(readFileSync(new URL('./expected.yaml', import.meta.url), 'utf8')) as Expected;
}
