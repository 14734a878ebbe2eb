import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { StoredHead } from '../../src/accounting/repeats/stored-response.ts';
import { ROW_BYTES } from '../../src/accounting/repeats/stored-response-capacity.ts';
import {
  type ClaimRequest,
  type ClaimTerms,
  type ClaimVerdict,
  createStoredResponseStore,
  type StoredClaim,
  type StoredResponseStore,
} from '../../src/accounting/repeats/stored-response-store.ts';
import type { EndResult } from '../../src/accounting/settlement/store.ts';
import {
  requestOf as admissionOf,
  CONTEXT,
  NOW_MS,
  openAccount,
  outcomeOf,
  recordOf,
  TIME,
  termsOf,
} from '../support/accounting-builders.ts';
import { createTestReservationStore, createTestSettlementStore } from '../support/call-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** The SQL of stored responses: which request may run a call, and from when on its response is valid. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The settings of a node that claims for a minute and keeps responses for a day. */
function termsAt(nowMs: number): ClaimTerms {
  return { nowMs, claimedForMs: MINUTE_MS, keptForMs: DAY_MS };
}

const HEAD: StoredHead = {
  status: 200,
  headers: { 'content-type': 'application/json', 'x-request-id': 'req_"1"\\' },
  callHeaders: { 'x-faregate-call-id': 'call_1' },
};
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

let claims = 0;
function requestOf(accountId: string, idempotencyKey: string, fingerprint = 'same'): ClaimRequest {
  return { accountId, keyId: 'key_1', idempotencyKey, fingerprint, callId: `claim_${++claims}` };
}

describe(`stored responses`, () => {
  let stored: TestDatabase;
  let store: StoredResponseStore;
  before(async () => {
    stored = await createTestDatabase();
    store = createStoredResponseStore(stored.database);
    await openAccount(stored.database, 'acct', 1_000_000n);
  });
  after(() => stored.remove());

  async function claim(request: ClaimRequest, nowMs = NOW_MS): Promise<ClaimVerdict> {
    const [verdict] = await store.claim([request], termsAt(nowMs));
    return verdict!;
  }

  function responseTo(request: ClaimRequest, body: Buffer | null = EVERY_BYTE): StoredClaim {
    return {
      ...request,
      head: HEAD,
      body,
      billedCallId: `call_of_${request.callId}`,
      startedAtMs: NOW_MS,
      keptForMs: DAY_MS,
    };
  }

  function keep(request: ClaimRequest, nowMs = NOW_MS, body: Buffer | null = EVERY_BYTE): Promise<boolean> {
    return store.keep(responseTo(request, body), termsAt(nowMs));
  }

  /** Ends calls in one batch; with or without a response stored for the repeats of a call. */
  function end(...requests: { request: ClaimRequest; hasKept: boolean }[]): Promise<readonly EndResult[]> {
    const records = requests.map(({ request, hasKept }) => {
      const outcome = outcomeOf(request.accountId, `call_of_${request.callId}`, 1n);
      return recordOf(outcome, { kept: hasKept ? responseTo(request) : null });
    });
    return createTestSettlementStore(stored.database).end(records, TIME);
  }

  /** Ends the call like its settlement does. */
  async function settle(request: ClaimRequest): Promise<void> {
    const [result] = await end({ request, hasKept: true });
    assert.notEqual(result, 'claim_lost');
  }

  async function responded(key: string, nowMs = NOW_MS): Promise<ClaimRequest> {
    const request = requestOf('acct', key);
    assert.equal(await claim(request, nowMs), 'claimed');
    assert.equal(await keep(request, nowMs), true);
    await settle(request);
    return request;
  }

  async function countRows(): Promise<number> {
    const [row] = await stored.database.query<{ n: number }>({
      name: 'test.count-kept',
      text: 'select count(*)::int as n from stored_responses',
    });
    return row!.n;
  }

  it('a key is claimed once; the same request learns that the call runs, another one that the key is not its own', async () => {
    assert.equal(await claim(requestOf('acct', 'k1')), 'claimed');
    assert.equal(await claim(requestOf('acct', 'k1')), 'running');
    assert.equal(await claim(requestOf('acct', 'k1', 'other')), 'other_request');
  });

  it('keys of other accounts and of other API keys are other keys', async () => {
    const request = requestOf('acct', 'k2');
    assert.equal(await claim(request), 'claimed');
    assert.equal(await claim({ ...request, accountId: 'acct_2', callId: 'claim_a' }), 'claimed');
    assert.equal(await claim({ ...request, keyId: 'key_2', callId: 'claim_b' }), 'claimed');
  });

  it('a batch returns its verdicts in its own order', async () => {
    const old = await responded('batch-c');
    await claim(requestOf('acct', 'batch-a'));
    const batch = [
      requestOf('acct', 'batch-d'),
      requestOf('acct', 'batch-c'),
      requestOf('acct', 'batch-a', 'other'),
      requestOf('acct', 'batch-b'),
      requestOf('acct_2', 'batch-c'),
    ];
    const verdicts = await store.claim(batch, termsAt(NOW_MS));
    assert.deepEqual(verdicts, ['claimed', 'answered', 'other_request', 'claimed', 'claimed']);
    assert.deepEqual(await store.find(old), { head: HEAD, body: EVERY_BYTE });
  });

  it('a stored response is valid from the end of its call on', async () => {
    const request = requestOf('acct', 'k3');
    await claim(request);
    assert.equal(await store.find(request), null);
    assert.equal(await keep(request), true);
    assert.equal(await claim(requestOf('acct', 'k3')), 'running');
    assert.equal(await store.find(request), null);
    await settle(request);
    assert.equal(await claim(requestOf('acct', 'k3')), 'answered');
    assert.equal(await claim(requestOf('acct', 'k3', 'other')), 'other_request');
    assert.deepEqual(await store.find(request), { head: HEAD, body: EVERY_BYTE });
    assert.equal(await store.find({ ...request, fingerprint: 'other' }), null);
  });

  it('a response may be stored without a body, and may be stored twice', async () => {
    const request = requestOf('acct', 'k4');
    await claim(request);
    assert.equal(await keep(request), true);
    assert.equal(await keep(request, NOW_MS, null), true);
    await settle(request);
    assert.deepEqual(await store.find(request), { head: HEAD, body: null });
  });

  it("the size of an account's stored responses is the sum of their bodies and rows, of this account alone", async () => {
    await openAccount(stored.database, 'acct_sized', 1n);
    assert.equal(await store.storedBytes('acct_sized'), 0);
    for (const [key, body] of [
      ['s1', EVERY_BYTE],
      ['s2', Buffer.alloc(100_000, 'x')],
      ['s3', null],
    ] as const) {
      const request = requestOf('acct_sized', key);
      await claim(request);
      await keep(request, NOW_MS, body);
    }
    assert.equal(await store.storedBytes('acct_sized'), 100_256 + 3 * ROW_BYTES);
    // The claim of a call that runs has no response yet.
    await claim(requestOf('acct_sized', 's4'));
    assert.equal(await store.storedBytes('acct_sized'), 100_256 + 3 * ROW_BYTES);
  });

  it('a large stored response is found with its size, and its body comes back byte for byte', async () => {
    const request = requestOf('acct', 'k5');
    const body = Buffer.alloc(2 ** 21, EVERY_BYTE);
    await claim(request);
    await keep(request, NOW_MS, body);
    await settle(request);
    const { body: found, unreadBytes } = (await store.find(request))!;
    assert.deepEqual([found, unreadBytes], [null, 2 ** 21]);
    assert.equal(body.compare((await store.readBody(request))!), 0);
  });

  it('the call of a dead node is taken over once its claim has expired, by another request too, and the dead node loses it', async () => {
    const dead = requestOf('acct', 'k6');
    await claim(dead);
    const last = NOW_MS + MINUTE_MS;
    assert.equal(await claim(requestOf('acct', 'k6'), last - 1), 'running');
    const next = requestOf('acct', 'k6', 'other');
    assert.equal(await claim(next, last), 'claimed');
    assert.equal(await keep(dead, last), false);
    await store.free([dead]);
    await store.renew([dead], termsAt(last + DAY_MS));
    assert.equal(await claim(requestOf('acct', 'k6', 'other'), last + MINUTE_MS - 1), 'running');
    assert.equal(await claim(requestOf('acct', 'k6', 'other'), last + MINUTE_MS), 'claimed');
  });

  it('a response that a dead node stored and did not settle is not valid, one that it settled is', async () => {
    const unsettled = requestOf('acct', 'k7');
    await claim(unsettled);
    await keep(unsettled);
    const later = NOW_MS + 2 * MINUTE_MS;
    const next = requestOf('acct', 'k7');
    assert.equal(await claim(next, later), 'claimed');
    assert.equal(await store.find(next), null);

    await responded('k8');
    assert.equal(await claim(requestOf('acct', 'k8'), later), 'answered');
  });

  it('the response of a call whose outcome is unknown is not valid', async () => {
    const request = requestOf('acct', 'k9');
    await claim(request);
    const callId = `call_of_${request.callId}`;
    await createTestReservationStore(stored.database).admit([admissionOf('acct', callId, 1n)], termsOf(CONTEXT));
    await keep(request);
    const unresolved = [{ accountId: 'acct', callId }];
    const resolved = await createTestSettlementStore(stored.database).resolve(unresolved, TIME);
    assert.equal(resolved.length, 1);
    assert.equal(await claim(requestOf('acct', 'k9')), 'running');
    assert.equal(await claim(requestOf('acct', 'k9'), NOW_MS + MINUTE_MS), 'claimed');
  });

  it('a stored response is not valid if its call ended without one', async () => {
    const request = requestOf('acct', 'k16');
    await claim(request);
    await keep(request);
    await end({ request, hasKept: false });
    assert.equal(await store.find(request), null);
    await store.free([request]);
    assert.equal(await claim(requestOf('acct', 'k16')), 'claimed');
  });

  it('a call whose claim was taken over after its response was stored is not ended; others of its batch are', async () => {
    const dead = requestOf('acct', 'k17');
    await claim(dead);
    await keep(dead);
    const next = requestOf('acct', 'k17');
    assert.equal(await claim(next, NOW_MS + MINUTE_MS), 'claimed');
    await keep(next, NOW_MS + MINUTE_MS);
    const before = await store.find(next);
    const results = await end(
      { request: dead, hasKept: true },
      { request: next, hasKept: true },
      { request: dead, hasKept: true },
    );
    assert.deepEqual([before, results[0], results[2]], [null, 'claim_lost', 'claim_lost']);
    assert.notEqual(results[1], 'claim_lost');
    assert.deepEqual(await store.find(next), { head: HEAD, body: EVERY_BYTE });
    const [{ n }] = (await stored.database.query<{ n: number }>(
      { name: 'test.count-ends', text: 'select count(*)::int as n from calls where id = $1' },
      [`call_of_${dead.callId}`],
    )) as [{ n: number }];
    assert.equal(n, 0);
  });

  it('a claim that is renewed does not expire', async () => {
    const request = requestOf('acct', 'k10');
    await claim(request);
    await store.renew([request], termsAt(NOW_MS + 4 * MINUTE_MS));
    assert.equal(await claim(requestOf('acct', 'k10'), NOW_MS + 4 * MINUTE_MS), 'running');
    assert.equal(await keep(request, NOW_MS + 4 * MINUTE_MS), true);
  });

  it('a key is freed if its call did not end, and kept if it did', async () => {
    const refused = requestOf('acct', 'k11');
    await claim(refused);
    const unsettled = requestOf('acct', 'k12');
    await claim(unsettled);
    await keep(unsettled);
    const paid = await responded('k13');
    await store.free([paid, unsettled, refused]);
    assert.equal(await claim(requestOf('acct', 'k11', 'other')), 'claimed');
    assert.equal(await claim(requestOf('acct', 'k12', 'other')), 'claimed');
    assert.equal(await claim(requestOf('acct', 'k13')), 'answered');
  });

  it('a stored response is returned until it expires; then its key is free, also for another request', async () => {
    const request = await responded('k14');
    const expiry = NOW_MS + DAY_MS;
    assert.equal(await claim(requestOf('acct', 'k14'), expiry - 1), 'answered');
    assert.equal(await claim(requestOf('acct', 'k14', 'other'), expiry), 'claimed');
    assert.equal(await store.find(request), null);
  });

  it('a response is kept from the end of its call on, however long that end was queued', async () => {
    const request = requestOf('acct', 'k18');
    assert.equal(await claim(request), 'claimed');
    await keep(request);
    const ended = NOW_MS + 2 * DAY_MS;
    const kept = { ...responseTo(request), keptForMs: MINUTE_MS };
    const record = recordOf(outcomeOf('acct', kept.billedCallId, 1n), { kept });
    await createTestSettlementStore(stored.database).end([record], { ...TIME, nowMs: ended });
    assert.equal(await claim(requestOf('acct', 'k18'), ended + MINUTE_MS - 1), 'answered');
    assert.equal(await claim(requestOf('acct', 'k18'), ended + MINUTE_MS), 'claimed');
  });

  it('a call that runs longer than its response is to be stored is neither taken over nor forgotten', async () => {
    const request = requestOf('acct', 'k15');
    const short: ClaimTerms = { nowMs: NOW_MS, claimedForMs: 5 * MINUTE_MS, keptForMs: 1 };
    assert.deepEqual(await store.claim([request], short), ['claimed']);
    const later = NOW_MS + 4 * MINUTE_MS;
    await store.forgetExpired(later);
    assert.equal(await claim(requestOf('acct', 'k15'), later), 'running');
    assert.equal(await keep(request, later), true);
  });

  it('a claim is kept while the end of its call may wait in a journal, so that the call is charged and not considered replaced', async () => {
    const request = requestOf('acct', 'k19');
    assert.equal(await claim(request), 'claimed');
    const replayed = NOW_MS + 20 * DAY_MS;
    await store.forgetExpired(replayed);
    assert.equal(await keep(request, replayed), true);
    const kept = responseTo(request);
    const record = recordOf(outcomeOf('acct', kept.billedCallId, 1n), { kept });
    const [end] = await createTestSettlementStore(stored.database).end([record], { ...TIME, nowMs: replayed });
    assert.notEqual(end, 'claim_lost');
    // If another call has claimed the key meanwhile, that one alone is charged.
    const lost = requestOf('acct', 'k20');
    assert.equal(await claim(lost), 'claimed');
    assert.equal(await claim(requestOf('acct', 'k20'), replayed), 'claimed');
    assert.equal(await keep(lost, replayed), false);
  });

  it('claims of an earlier process are freed, stored responses are kept', async () => {
    await claim(requestOf('acct', 'left-1'));
    const unsettled = requestOf('acct', 'left-2');
    await claim(unsettled);
    await keep(unsettled);
    await responded('left-3');
    await store.freeLeft();
    const batch = ['left-1', 'left-2', 'left-3'].map((key) => requestOf('acct', key));
    assert.deepEqual(await store.claim(batch, termsAt(NOW_MS)), ['claimed', 'claimed', 'answered']);
  });

  it('everything that has expired is deleted, however much it is, and nothing else', async () => {
    await store.forgetExpired(NOW_MS + 40 * DAY_MS);
    assert.equal(await countRows(), 0);
    const batch = Array.from({ length: 256 }, (_, i) => requestOf('acct', `old-${i}`));
    await store.claim(batch, termsAt(NOW_MS - 40 * DAY_MS));
    await responded('young');
    // A node that is about to stop does so after a batch.
    await store.forgetExpired(NOW_MS, AbortSignal.abort());
    assert.equal(await countRows(), 157);
    await store.forgetExpired(NOW_MS);
    assert.equal(await countRows(), 1);
    assert.equal(await claim(requestOf('acct', 'young')), 'answered');
  });
});
