import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callerOf, programOf } from './caller.ts';

const NOTHING = { clientAddress: false, program: false, endUser: false };
const ALL = { clientAddress: true, program: true, endUser: true };

describe('the program of a user agent', () => {
  it('is its products before the first comment, at most 120 characters', () => {
    for (const [userAgent, program] of [
      ['OpenAI/Python 2.6.0', 'OpenAI/Python 2.6.0'],
      ['claude-cli/2.0.14 (external, cli)', 'claude-cli/2.0.14'],
      ['codex_cli_rs/0.58.0 (Ubuntu 24.4.0; x86_64) xterm', 'codex_cli_rs/0.58.0'],
      ['Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0', 'Mozilla/5.0'],
      ['(only a comment)', null],
      ['', null],
      [undefined, null],
      ['a\u0085b', null],
      [`${'x'.repeat(200)} (y)`, 'x'.repeat(120)],
    ] as const) {
      assert.equal(programOf(userAgent), program);
    }
  });
});

describe('the recorded caller', () => {
  const sources = { clientAddress: '192.0.2.1', userAgent: 'curl/8.14', tags: null, endUser: () => 'ann' };
  const unread = {
    ...sources,
    endUser: (): never => {
      throw new Error('the end user was read');
    },
  };

  it('has what the account or the configuration asks for', () => {
    assert.deepEqual(callerOf(sources, ALL, null), {
      clientAddress: '192.0.2.1',
      program: 'curl/8.14',
      endUser: 'ann',
    });
    assert.deepEqual(callerOf(unread, { ...NOTHING, program: true }, { ...NOTHING, clientAddress: true }), {
      clientAddress: '192.0.2.1',
      program: 'curl/8.14',
    });
  });

  it('has only the tags if nothing else is recorded, and is null without tags', () => {
    assert.deepEqual(callerOf({ ...unread, tags: ['batch'] }, NOTHING, null), { tags: ['batch'] });
    assert.equal(callerOf(unread, null, NOTHING), null);
    assert.equal(callerOf({ ...sources, endUser: () => null }, { ...NOTHING, endUser: true }, null), null);
  });
});
