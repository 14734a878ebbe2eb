import assert from 'node:assert/strict';
import type { ClientResponse } from '../support/client.ts';
import type { TestAccount } from '../support/gateway.ts';
import { recomputedCharge } from '../support/recomputed-charge.ts';

/** The addresses of tokens, and a request to each. */
export const CHAT = '/v1/chat/completions';
export const RESPONSES = '/v1/responses';
export const MESSAGES = '/v1/messages';
const user = { role: 'user', content: 'Hello' };
export const bodies: Readonly<Record<string, object>> = {
  [CHAT]: { messages: [user] },
  [RESPONSES]: { input: 'Hello' },
  [MESSAGES]: { messages: [user], max_tokens: 10 },
};

/** The charge of a call that succeeds, and its record, which says what the charge follows from. */
export async function chargeOf(account: TestAccount, send: () => Promise<ClientResponse>) {
  const before = (await account.money()).balanceNano;
  const result = await send();
  assert.equal(result.status, 200, result.text);
  const record = await account.lastCall();
  const nano = before - (await account.money()).balanceNano;
  assert.equal(recomputedCharge(record), nano, 'the record does not say what the charge follows from');
  return { nano, record };
}
