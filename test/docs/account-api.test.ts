import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type AccountApiDependencies, accountTable } from '../../src/api/registers/account.ts';

const page = readFileSync(new URL('../../docs/account-api.md', import.meta.url), 'utf8');

describe('docs/account-api.md', () => {
  it('has a line for every address of the account API, as its table has it', () => {
    const expected = accountTable({} as AccountApiDependencies).map(
      ({ method, path, needs, summary }) => `| \`${method} ${path}\` | ${needs} | ${summary} |`,
    );
    assert.deepEqual(page.match(/^\| `[A-Z]+ \/.*$/gm), expected);
  });
});
