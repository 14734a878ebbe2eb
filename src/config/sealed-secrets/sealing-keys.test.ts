import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSealingKey } from './sealing.ts';
import { newSealingKey, readSealingKeys, SealingKeyError } from './sealing-keys.ts';

const ONE = randomBytes(32);
const TWO = randomBytes(32);
const idsOf = (...keys: Buffer[]): string[] => keys.map((key) => createSealingKey(key).id);
const read = (environment: Record<string, string>): string[] => readSealingKeys(environment).map(({ id }) => id);

function messageOf(environment: Record<string, string>): string {
  try {
    readSealingKeys(environment);
  } catch (error) {
    assert.ok(error instanceof SealingKeyError);
    return error.message;
  }
  return assert.fail('the keys were accepted');
}

describe('the keys of sealed secrets', () => {
  it('are none if no variable is set', () => {
    assert.deepEqual(read({}), []);
    assert.deepEqual(read({ FAREGATE_SECRETS_KEY: '', FAREGATE_SECRETS_KEY_FILE: '' }), []);
  });

  it('are base64, base64url or hexadecimal, in order and without duplicates', () => {
    const forms = [
      ONE.toString('base64'),
      ONE.toString('base64url'),
      ONE.toString('hex'),
      ONE.toString('hex').toUpperCase(),
    ];
    for (const form of forms) assert.deepEqual(read({ FAREGATE_SECRETS_KEY: form }), idsOf(ONE));
    const list = `${TWO.toString('hex')}, ${forms.join(',')}`;
    assert.deepEqual(read({ FAREGATE_SECRETS_KEY: list }), idsOf(TWO, ONE));
    assert.equal(read({ FAREGATE_SECRETS_KEY: newSealingKey() }).length, 1);
  });

  it('can be in a file, which is read at each call', () => {
    const directory = mkdtempSync(join(tmpdir(), 'faregate-keys-'));
    const file = join(directory, 'key');
    try {
      const environment = { FAREGATE_SECRETS_KEY_FILE: file };
      assert.equal(messageOf(environment), 'FAREGATE_SECRETS_KEY_FILE: There is no such file.');
      writeFileSync(file, `${ONE.toString('base64')}\n`);
      assert.deepEqual(read(environment), idsOf(ONE));
      writeFileSync(file, `${TWO.toString('base64')}\n${ONE.toString('base64')}\n`);
      assert.deepEqual(read(environment), idsOf(TWO, ONE));
      writeFileSync(file, '\n');
      assert.equal(messageOf(environment), 'FAREGATE_SECRETS_KEY_FILE: There is no key in it.');
      assert.match(messageOf({ ...environment, FAREGATE_SECRETS_KEY: newSealingKey() }), /not both/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('are refused if they are short, not random or no bytes, without being shown', () => {
    for (const text of [
      'canary-text',
      ONE.subarray(1).toString('base64'),
      `${ONE.toString('hex')}0`,
      'ab'.repeat(32),
    ]) {
      const message = messageOf({ FAREGATE_SECRETS_KEY: `${TWO.toString('hex')},${text}` });
      assert.match(message, /^FAREGATE_SECRETS_KEY: Each key (must be 32 bytes|is not random)/);
      assert.ok(!message.includes(text) && !message.includes(TWO.toString('hex')));
    }
  });
});
