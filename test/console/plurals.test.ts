import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { counted } from '../../console/src/text/counted.ts';

/** Things that texts count. */
const NOUNS = [
  ...['account', 'call', 'code', 'credential', 'day', 'error', 'failure', 'group'],
  ...['hour', 'invitation', 'key', 'limit', 'line', 'member', 'minute', 'model', 'month', 'network', 'notice', 'point'],
  ...[
    'plan',
    'problem',
    'provider',
    'record',
    'request',
    'route',
    'rule',
    'second',
    'session',
    'time',
    'token',
    'user',
  ],
  ...['voucher', 'week', 'word'],
];
/** A placeholder, and a noun in the plural, possibly after an adjective. */
const PLURAL = new RegExp(String.raw`\$\{(?!counted)[^{}]*\}\+? (?!of |with )(?:[a-z]+ )?(?:${NOUNS.join('|')})s\b`);

describe('a number in a text', () => {
  it('has its noun in the singular if it is one', () => {
    assert.deepEqual(
      ['0', '1', 1, 2, '1,000'].map((count) => counted(count, 'call')),
      ['0 calls', '1 call', '1 call', '2 calls', '1,000 calls'],
    );
    assert.equal(counted(1, 'failure', 'failures in a row'), '1 failure');
  });

  it('is never followed by a plural that one has too', () => {
    const files = globSync('console/src/**/*.{ts,tsx}');
    assert.ok(files.length > 200);
    const found = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          PLURAL.test(line) && !line.includes(' === 1 ? ') ? [`${file}:${index + 1}: ${line.trim()}`] : [],
        ),
    );
    assert.deepEqual(found, []);
  });
});
