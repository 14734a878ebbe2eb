import { randomFillSync } from 'node:crypto';
import { createApiKey } from '../../accounting/accounts/key-format.ts';
import type { Clock } from '../../lib/clock.ts';
import { createIds, type FillRandom } from '../../lib/ids.ts';

/** Secrets of the demo and their owners. They are stored in a file before the database has their hashes. */
export interface NewDemo {
  /** Name of the account, of its key, and of its owner, who is also the operator. */
  readonly name: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
  readonly userId: string;
  readonly password: string;
}

/** Letters and digits without those that are easily confused. */
const ALPHABET = 'abcdefghjkmnpqrstvwxyz0123456789';
const GROUPS = 4;
const GROUP_CHARS = 4;

/** @param accountAtMs when the account was created, which its id contains */
export function createNewDemo(clock: Clock, accountAtMs: number, fillRandom: FillRandom = randomFillSync): NewDemo {
  const ids = createIds({ nowMs: () => accountAtMs }, fillRandom);
  return {
    name: 'demo',
    accountId: ids.next('acct'),
    keyId: ids.next('key'),
    key: createApiKey(fillRandom),
    userId: createIds(clock, fillRandom).next('usr'),
    password: createPassword(fillRandom),
  };
}

/** Returns a password of 80 random bits, in groups that are easy to type. */
export function createPassword(fillRandom: FillRandom = randomFillSync): string {
  const bytes = new Uint8Array(GROUPS * GROUP_CHARS);
  fillRandom(bytes);
  const text = Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('');
  return text.match(new RegExp(`.{${GROUP_CHARS}}`, 'g'))!.join('-');
}
