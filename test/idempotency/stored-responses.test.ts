import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { ROW_BYTES } from '../../src/accounting/repeats/stored-response-capacity.ts';
import { createStoredResponseStore, type StoredClaim } from '../../src/accounting/repeats/stored-response-store.ts';
import type { Claim, ClaimResult } from '../../src/accounting/repeats/stored-responses.ts';
import { LateError } from '../../src/lib/batcher-errors.ts';
import { NOW_MS, openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';
import { ACCOUNT, createNode, endCall, leaving, type Node, patient, responseOf } from './node.ts';

/** Which requests get a claim, which wait for which, and what happens to those that wait, on one node. */

describe(`claims on one node`, () => {
  let stored: TestDatabase;
  let observed: ObservedDatabase;
  let node: Node;
  before(async () => {
    stored = await createTestDatabase();
    observed = observeDatabase(stored.database);
    node = createNode(observed.database);
    await openAccount(stored.database, ACCOUNT, 1_000_000n);
  });
  afterEach(async () => {
    await node.storedResponses.drain();
    assert.equal(node.storedResponses.size, 0, 'a key was left in the map');
  });
  after(() => stored.remove());

  async function claimed(key: string, fingerprint?: string) {
    const result = await node.claim(key, fingerprint);
    assert.equal(result.state, 'claimed');
    return (result as ClaimResult & { state: 'claimed' }).claim;
  }

  async function keep(
    claim: Claim,
    callId: string,
    text: string,
    { storedResponses }: Node = node,
  ): Promise<StoredClaim> {
    const { held, keptForMs } = claim;
    const responded = { ...held, ...responseOf(text), billedCallId: callId, startedAtMs: NOW_MS, keptForMs };
    await storedResponses.keep(responded);
    return responded;
  }

  async function responded(key: string): Promise<string> {
    const claim = await claimed(key);
    const kept = await keep(claim, `call_${key}`, key);
    await endCall(stored.database, kept, 1n);
    claim.settled(responseOf(key));
    claim.close();
    return key;
  }

  it('waiting repeats get the response when the call ends, from memory, without reading the database again', async () => {
    const claim = await claimed('a1');
    const { asked } = observed.statement('idempotency.claim-keys');
    const waiting = [node.claim('a1'), node.claim('a1')];
    const kept = await keep(claim, 'call_a1', 'a1');
    await endCall(stored.database, kept, 1n);
    claim.settled(responseOf('a1'));
    claim.close();
    const response = { state: 'answered', response: responseOf('a1') };
    assert.deepEqual(await Promise.all(waiting), [response, response]);
    assert.equal(observed.statement('idempotency.claim-keys').asked, asked);
    assert.deepEqual(await node.claim('a1'), response);
  });

  it('a response that was stored and not settled is not returned: the next request runs the call', async () => {
    const claim = await claimed('a2');
    const next = node.claim('a2');
    await keep(claim, 'call_a2', 'a2');
    claim.close();
    const result = await next;
    assert.equal(result.state, 'claimed');
    if (result.state === 'claimed') result.claim.close();
  });

  it('the repeats that wait for a call whose response is not stored run it one after the other', async () => {
    const first = await claimed('a3');
    let pending = 0;
    const others = Array.from({ length: 5 }, async () => {
      const claim = await claimed('a3');
      assert.equal(++pending, 1);
      await new Promise((resolve) => setImmediate(resolve));
      pending--;
      claim.close();
    });
    first.close();
    await Promise.all(others);
  });

  it('another request is refused at once while the first one runs, and after it', async () => {
    const claim = await claimed('a4');
    const { asked } = observed.statement('idempotency.claim-keys');
    assert.deepEqual(await node.claim('a4', 'other'), { state: 'other_request' });
    assert.equal(observed.statement('idempotency.claim-keys').asked, asked);
    claim.close();
    assert.deepEqual(await node.claim(await responded('a5'), 'other'), { state: 'other_request' });
  });

  it('another request does not free the key: the same one, which came meanwhile, gets the response', async () => {
    await responded('a6');
    const claims = observed.statement('idempotency.claim-keys');
    const { asked } = claims;
    claims.hold();
    const wrong = node.claim('a6', 'other');
    const right = node.claim('a6');
    await claims.reached(asked + 1);
    claims.release();
    assert.deepEqual(await wrong, { state: 'other_request' });
    assert.deepEqual(await right, { state: 'answered', response: responseOf('a6') });
  });

  it('a repeat whose client leaves stops waiting, and the others get the response', async () => {
    const claim = await claimed('a8');
    const waiter = leaving();
    const left = node.claim('a8', 'same', waiter);
    const stays = node.claim('a8');
    waiter.leave();
    assert.deepEqual(await left, { state: 'given_up' });
    const kept = await keep(claim, 'call_a8', 'a8');
    await endCall(stored.database, kept, 1n);
    claim.settled(responseOf('a8'));
    claim.close();
    assert.equal((await stays).state, 'answered');
  });

  it('at most a hundred wait for one call; one that leaves makes way for another', async () => {
    const claim = await claimed('a20');
    const waiters = Array.from({ length: 100 }, () => leaving());
    const waiting = waiters.map((waiter) => node.claim('a20', 'same', waiter));
    assert.deepEqual(await node.claim('a20'), { state: 'crowded' });
    waiters[0]!.leave();
    assert.deepEqual(await waiting[0], { state: 'given_up' });
    const another = node.claim('a20');
    const kept = await keep(claim, 'call_a20', 'a20');
    await endCall(stored.database, kept, 1n);
    claim.settled(responseOf('a20'));
    claim.close();
    for (const { state } of await Promise.all([...waiting.slice(1), another])) assert.equal(state, 'answered');
  });

  it('a claim fails at once if the database is down, and repeats that wait for it claim by themselves', async () => {
    const claims = observed.statement('idempotency.claim-keys');
    claims.fail('before');
    claims.hold();
    const { asked } = claims;
    const both = [node.claim('a9'), node.claim('a9')];
    await claims.reached(asked + 1);
    claims.release();
    const results = await Promise.allSettled(both);
    claims.recover();
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(claims.asked, asked + 2);
  });

  it('a claim whose reply was lost is released', async () => {
    const claims = observed.statement('idempotency.claim-keys');
    const frees = observed.statement('idempotency.free-claims');
    const { done } = frees;
    claims.fail('after');
    await assert.rejects(node.claim('a10'));
    claims.recover();
    await frees.completed(done + 1);
    (await claimed('a10')).close();
  });

  it('a claim that the database carries out after its call was refused and its key freed is freed again', async () => {
    const real = createStoredResponseStore(stored.database);
    const freed = Promise.withResolvers<void>();
    let late: (() => Promise<unknown>) | undefined;
    const hurried = createNode(stored.database, {
      freeLateMs: 1,
      store: {
        async claim(requests, terms) {
          if (late !== undefined) return real.claim(requests, terms);
          late = () => real.claim(requests, terms);
          throw new LateError();
        },
        async free(claims) {
          await real.free(claims);
          freed.resolve();
        },
      },
    });
    await assert.rejects(hurried.claim('a21'));
    await freed.promise;
    assert.deepEqual(await late!(), ['claimed']);
    const again = await hurried.claim('a21');
    assert.equal(again.state, 'claimed');
    if (again.state === 'claimed') again.claim.close();
    await hurried.storedResponses.drain();
  });

  it('a key that could not be freed is taken over once its claim has expired', async () => {
    const frees = observed.statement('idempotency.free-claims');
    frees.fail('before');
    (await claimed('a11')).close();
    await node.storedResponses.drain();
    frees.recover();
    node.clock.advance(60_000);
    (await claimed('a11')).close();
    node.clock.advance(-60_000);
  });

  it('the client of a call does not wait for its key to be freed, its repeats do', async () => {
    const frees = observed.statement('idempotency.free-claims');
    const { asked } = frees;
    const claim = await claimed('a12');
    frees.hold();
    claim.close();
    await frees.reached(asked + 1);
    const before = observed.statement('idempotency.claim-keys').asked;
    const next = node.claim('a12');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(observed.statement('idempotency.claim-keys').asked, before);
    frees.release();
    const result = await next;
    assert.equal(result.state, 'claimed');
    if (result.state === 'claimed') result.claim.close();
  });

  for (const when of ['before', 'after'] as const) {
    it(`freeing a key while the database is down, which fails ${when} it is carried out, is retried when it is back`, async () => {
      const key = `a20-${when}`;
      const frees = observed.statement('idempotency.free-claims');
      const { asked } = frees;
      const claim = await claimed(key);
      frees.fail(when);
      claim.close();
      await frees.reached(asked + 2);
      frees.recover();
      // On another node, whose clock stands still: the claim does not expire.
      const other = createNode(observed.database);
      const result = await other.claim(key);
      assert.equal(result.state, 'claimed');
      if (result.state === 'claimed') result.claim.close();
      await other.storedResponses.drain();
    });
  }

  for (const when of ['before', 'after'] as const) {
    it(`a response may be stored again if that failed ${when} the database had carried it out`, async () => {
      const key = `a13-${when}`;
      const keeps = observed.statement('idempotency.keep-response');
      const claim = await claimed(key);
      keeps.fail(when);
      await assert.rejects(keep(claim, `call_${key}`, key), { code: 'ECONNRESET' });
      keeps.recover();
      const kept = await keep(claim, `call_${key}`, key);
      await endCall(stored.database, kept, 1n);
      claim.settled(responseOf(key));
      claim.close();
      assert.deepEqual(await node.claim(key), { state: 'answered', response: responseOf(key) });
    });
  }

  it('a response takes its share of the limit once, however often storing it fails', async () => {
    const takenBytes = await createStoredResponseStore(stored.database).storedBytes(ACCOUNT);
    const full = createNode(observed.database, { accountBytesMax: takenBytes + 2 * ROW_BYTES });
    const result = await full.claim('a30');
    assert.ok(result.state === 'claimed');
    const { claim } = result;
    const keeps = observed.statement('idempotency.keep-response');
    keeps.fail('before');
    for (let tries = 0; tries < 3; tries++) {
      await assert.rejects(keep(claim, 'call_a30', 'a30', full), { code: 'ECONNRESET' });
    }
    keeps.recover();
    await endCall(stored.database, await keep(claim, 'call_a30', 'a30', full), 1n);
    claim.settled(responseOf('a30'));
    claim.close();
    const repeat = await node.claim('a30');
    assert.ok(repeat.state === 'answered');
    assert.equal(repeat.response.body?.toString(), 'a30');
  });

  it('many keys at once go to the database together, and no key twice in one statement', async () => {
    const before = node.batches.length;
    const keys = Array.from({ length: 40 }, (_, i) => `many-${i % 20}`);
    const fates = await Promise.all(keys.map((key) => node.run(key, async () => 'succeeded')));
    assert.equal(fates.filter((result) => 'run' in result).length, 20);
    assert.equal(fates.filter((result) => 'kept' in result).length, 20);
    const batches = node.batches.slice(before);
    assert.equal(Math.max(...batches.map((batch) => batch.length)), 20);
    for (const batch of batches) assert.equal(new Set(batch).size, batch.length);
  });

  it('claims are renewed while their calls run', async () => {
    const eager = createNode(observed.database, { renewMs: 1 });
    const renewals = observed.statement('idempotency.renew-claims');
    const result = await eager.claim('a14');
    eager.clock.advance(50_000);
    await renewals.completed(renewals.asked + 1);
    node.clock.advance(70_000);
    const waiter = leaving();
    const next = node.claim('a14', 'same', waiter);
    await observed
      .statement('idempotency.claim-keys')
      .completed(observed.statement('idempotency.claim-keys').asked + 2);
    waiter.leave();
    assert.deepEqual(await next, { state: 'given_up' });
    assert.equal(result.state, 'claimed');
    if (result.state === 'claimed') result.claim.close();
    await eager.storedResponses.drain();
    const { asked } = renewals;
    await eager.storedResponses.drain();
    assert.equal(renewals.asked, asked);
    node.clock.advance(-70_000);
  });

  it('at shutdown no repeat waits for another node; repeats of this node’s calls get their response', async () => {
    const other = createNode(observed.database);
    const elsewhere = await other.claim('a16');
    const last = createNode(observed.database);
    const claims = observed.statement('idempotency.claim-keys');
    const before = claims.done;
    const abroad = [last.claim('a16'), last.claim('a16'), last.claim('a16')];
    await claims.completed(before + 2);
    const here = await last.claim('a17');
    const responses = [last.claim('a17'), last.claim('a17', 'same', patient())];
    last.storedResponses.stopWaiting();
    assert.deepEqual(await Promise.all(abroad), Array(3).fill({ state: 'given_up' }));
    assert.equal(here.state, 'claimed');
    if (here.state === 'claimed') {
      const kept = await keep(here.claim, 'call_a17', 'a17');
      await endCall(stored.database, kept, 1n);
      here.claim.settled(responseOf('a17'));
      here.claim.close();
    }
    for (const { state } of await Promise.all(responses)) assert.equal(state, 'answered');
    if (elsewhere.state === 'claimed') elsewhere.claim.close();
    await Promise.all([other.storedResponses.drain(), last.storedResponses.drain()]);
    assert.deepEqual([other.storedResponses.size, last.storedResponses.size], [0, 0]);
  });
});
