import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Bilingual } from '../../src/changes/change-facts.ts';

export type { Bilingual };

/**
 * Compares sentences of the audit log with the reviewed ones in `change-sentences.md`. Omits what differs between runs: call ids, endings
 * of codes and keys, numbers after names.
 */

/** Changes made by tests in other files, because they need more than a gateway. */
export const NOTIFIED_ELSEWHERE = [
  'admin DELETE /catalog/revisions/:id',
  'admin POST /calls/:id/resolution',
  'admin POST /catalog/price-source/read',
  'admin POST /catalog/revisions',
  'admin POST /catalog/revisions, a draft',
  'admin POST /catalog/revisions/:id/apply',
  'admin POST /catalog/revisions/:id/rollback',
  'admin POST /config/reload',
  'configuration refused',
  'configuration reloaded',
  'prices followed',
  'database imported',
  'people GET /oidc/:id/callback, a link',
  'people GET /oidc/:id/callback, an identity',
  'people POST /password-resets',
] as const;

const ROW = /^\| (?<change>[^|]+) \| (?<en>[^|]+) \| (?<zh>[^|]+) \|$/;

const reviewed = new Map(
  readFileSync(new URL('change-sentences.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const { change, en, zh } = ROW.exec(line)?.groups ?? {};
      return change === undefined || change === 'change' || change.startsWith('--')
        ? []
        : [[change, { en, zh }] as const];
    }),
);

/** Fails unless a row has the reviewed sentence of its change; sentences contain no ids except those of calls. */
export function assertReviewed(change: string, sentence: Bilingual): void {
  const said = { en: withoutNumbers(sentence.en), zh: withoutNumbers(sentence.zh) };
  const line = `| ${change} | ${said.en} | ${said.zh} |`;
  assert.doesNotMatch(line, /\b[a-z]{2,4}_[0-9a-z]{26}\b/, line);
  assert.match(said.zh, /\p{Script=Han}/u);
  assert.deepEqual(said, reviewed.get(change), `Read it, and set it in test/people/change-sentences.md:\n${line}`);
}

/** Fails if the file contains sentences of changes that no test makes. */
export function assertReviewedAll(changes: readonly string[]): void {
  assert.deepEqual([...reviewed.keys()].sort(), changes.toSorted());
}

function withoutNumbers(text: string): string {
  return text
    .replace(/\bcall_[0-9a-z]{26}\b/g, 'call_…')
    .replace(/(?<=“[A-Za-z]+) \d+(?=”)/g, '')
    .replace(/(?<=“sk-fg-)\w{4}(?=…”)/g, '')
    .replace(/(?<= …)[A-Z0-9]{4}\b/g, 'CODE')
    .replace(/(?<=\b(?:port|localhost|127\.0\.0\.1):)\d+/g, '…');
}
