import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { ADMIN_TOKEN, assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  badKey,
  type ExpectedRefusal,
  noPlan,
  responseAnything,
  urlOf,
  workOf,
} from './addresses.ts';
import { assertCounted, createSubscriber, plansText, subscribe } from './plans.ts';
import { notTestable } from './rule.ts';

const guarded = addresses.filter(({ auth }) => auth !== 'none');
const denied: ExpectedRefusal = { status: 403, code: 'permission_denied', type: 'permission_error' };
const find = (path: string): Address => addresses.find((address) => address.path === path)!;

describe('5 Authentication', () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ clock, plans: plansText({ roomy: {} }) });
    gateway.provider.respond = responseAnything;
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  /** Asserts that every address refuses the credential: 401 in every envelope, without a provider request. */
  async function assertRefusedEverywhere(headers: Record<string, string>): Promise<void> {
    const asked = gateway.provider.requests.length;
    for (const address of guarded) {
      assertRefusal(await askAddress(gateway.url, address, null, { headers }), address.envelope, badKey);
    }
    assert.equal(gateway.provider.requests.length, asked);
  }

  /** Whether the address accepts the credential, whatever else it responds. */
  async function isAccepted(address: Address, headers: Record<string, string>): Promise<boolean> {
    const response = await askAddress(gateway.url, address, null, { headers });
    if (response.status !== 401) return true;
    assertRefusal(response, address.envelope, badKey);
    return false;
  }

  for (const [family, paths] of [
    ['chat', ['/v1/chat/completions', '/v1/coding/chat/completions']],
    ['embeddings', ['/v1/embeddings']],
    ['rerank', ['/v1/rerank']],
    ['responses', ['/v1/responses', '/v1/responses/compact', '/v1/responses/input_tokens']],
    ['images', ['/v1/images/generations', '/v1/images/edits']],
    ['balance', ['/v1/user/balance', '/v1/coding/user/balance']],
  ] as const) {
    it(`5 ${family} accepts the key as Authorization: Bearer, and not as x-api-key`, async () => {
      for (const path of paths) {
        assert.ok(await isAccepted(find(path), { authorization: `Bearer ${account.key}` }), path);
        assert.ok(!(await isAccepted(find(path), { 'x-api-key': account.key })), path);
      }
    });
  }

  for (const [family, paths] of [
    ['messages', ['/v1/messages', '/altproto/v1/messages', '/v1/coding/altproto/messages']],
    ['count tokens', ['/v1/messages/count_tokens', '/altproto/v1/messages/count_tokens']],
    ['model detail', ['/altproto/v1/models/{model_id}']],
  ] as const) {
    it(`5 ${family} accepts the key as x-api-key or as Authorization: Bearer`, async () => {
      for (const path of paths) {
        assert.ok(await isAccepted(find(path), { authorization: `Bearer ${account.key}` }), path);
        assert.ok(await isAccepted(find(path), { 'x-api-key': account.key }), path);
      }
    });
  }

  it('5 GET /v1/public/models ignores credentials', async () => {
    assert.equal((await askFor(gateway.url, '/v1/public/models')).status, 200);
  });

  it('5 the scheme may be written in any case, with any blanks after it', async () => {
    for (const authorization of [`bearer ${account.key}`, `BEARER  ${account.key}`, `Bearer\t${account.key} `]) {
      for (const address of [find('/v1/user/balance'), find('/v1/messages')]) {
        assert.ok(await isAccepted(address, { authorization }));
      }
    }
  });

  it('5 both forms with the same key are one key, also if only Bearer is read', async () => {
    const both = { authorization: `Bearer ${account.key}`, 'x-api-key': account.key };
    for (const address of guarded) assert.ok(await isAccepted(address, both), urlOf(address));
  });

  it('5 two different keys are 401, even if both are usable', async () => {
    const other = await gateway.createAccount();
    await assertRefusedEverywhere({ authorization: `Bearer ${account.key}`, 'x-api-key': other.key });
    await assertRefusedEverywhere({ authorization: `Bearer ${other.key}`, 'x-api-key': account.key });
  });

  it('5 of two credentials the one with the form of our keys counts, if the address reads its header', async () => {
    const foreign = 'sk-proj-0123456789';
    for (const address of guarded) {
      assert.ok(await isAccepted(address, { authorization: `Bearer ${account.key}`, 'x-api-key': foreign }));
      const isRead = address.auth === 'x-api-key or Bearer';
      for (const authorization of [`Bearer ${foreign}`, 'Basic dXNlcjpwYXNz']) {
        assert.equal(await isAccepted(address, { authorization, 'x-api-key': account.key }), isRead, urlOf(address));
      }
    }
    await assertRefusedEverywhere({ authorization: `Bearer ${foreign}`, 'x-api-key': `${foreign}x` });
  });

  it('5 a missing key is 401 invalid_api_key, on messages of the type authentication_error', () =>
    assertRefusedEverywhere({}));

  it('5 a malformed key is 401', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      account.key,
      `Basic ${Buffer.from(`user:${account.key}`).toString('base64')}`,
      `Bearer ${account.key} ${account.key}`,
      `Bearer ${account.key}x`,
      `Bearer ${account.key.slice(0, -1)}`,
      `Bearer "${account.key}"`,
      `Bearer ${account.key.toUpperCase()}`,
    ]) {
      await assertRefusedEverywhere({ authorization });
    }
  });

  it('5 a key in the query or in a cookie is none', async () => {
    const response = await askFor(gateway.url, `/v1/user/balance?api_key=${account.key}&key=${account.key}`, {
      headers: { cookie: `api_key=${account.key}` },
    });
    assertRefusal(response, 'usage', badKey);
  });

  it('5 an unknown key is 401', async () => {
    const last = account.key.at(-1) === 'a' ? 'b' : 'a';
    await assertRefusedEverywhere({ authorization: `Bearer ${account.key.slice(0, -1)}${last}` });
  });

  it('5 the key of an account that is not verified is 401, until it is verified', async () => {
    const unverified = await gateway.createAccount({ verified: false });
    const headers = { authorization: `Bearer ${unverified.key}` };
    await assertRefusedEverywhere(headers);
    const { status } = await gateway.admin('PATCH', `/accounts/${unverified.id}`, { verified: true });
    assert.equal(status, 200);
    for (const address of guarded) assert.ok(await isAccepted(address, headers));
  });

  it('5 the key of a suspended account is unusable: 401', async () => {
    const suspended = await gateway.createAccount();
    const headers = { authorization: `Bearer ${suspended.key}` };
    assert.ok(await isAccepted(find('/v1/user/balance'), headers));
    await gateway.admin('PATCH', `/accounts/${suspended.id}`, { status: 'suspended' });
    await assertRefusedEverywhere(headers);
    await assertSpent(suspended, 0n);
  });

  it('5 a key that has expired is unusable: 401', async () => {
    const { body } = await gateway.admin('POST', `/accounts/${account.id}/keys`, {
      name: 'short-lived',
      expiresAt: '2026-11-20T04:00:10Z',
    });
    const headers = { authorization: `Bearer ${body.key}` };
    assert.ok(await isAccepted(find('/v1/user/balance'), headers));
    clock.advance(10_000);
    await assertRefusedEverywhere(headers);
  });

  it('5 a revoked key is 401 from then on, and the other keys of the account are not', async () => {
    const owner = await gateway.createAccount();
    const { body } = await gateway.admin('POST', `/accounts/${owner.id}/keys`, { name: 'second' });
    const revoked = { authorization: `Bearer ${owner.key}` };
    for (const address of guarded) assert.ok(await isAccepted(address, revoked));
    const before = await owner.money();
    assert.equal((await gateway.admin('DELETE', `/keys/${owner.keyId}`)).status, 204);
    await assertRefusedEverywhere(revoked);
    assert.ok(await isAccepted(find('/v1/user/balance'), { authorization: `Bearer ${body.key}` }));
    assert.deepEqual(await owner.money(), before);
  });

  it('5 a key restricted to networks is 403 permission_denied elsewhere, at every address, in its envelope', async () => {
    const owner = await gateway.createAccount();
    const allow = (allowedNetworks: string[] | null) =>
      gateway.admin('PATCH', `/keys/${owner.keyId}`, { allowedNetworks });
    assert.equal((await allow(['192.0.2.0/24', '2001:db8::/32'])).status, 200);
    const asked = gateway.provider.requests.length;
    for (const address of guarded) {
      const response = await askAddress(gateway.url, address, owner.key);
      assertRefusal(response, address.envelope, denied);
      assert.ok(!/192\.0\.2|2001/.test(response.text));
    }
    assert.equal(gateway.provider.requests.length, asked);
    assert.equal((await askFor(gateway.url, '/v1/public/models')).status, 200);
    await allow(null);
    assert.ok(await isAccepted(find('/v1/models'), { authorization: `Bearer ${owner.key}` }));
  });

  it('5 a key restricted to models is 403 permission_denied for all others, at every address with a model', async () => {
    const owner = await createSubscriber(gateway, 'roomy');
    const { status } = await gateway.admin('PATCH', `/keys/${owner.keyId}`, { allowedModels: ['test-unrouted'] });
    assert.equal(status, 200);
    const asked = gateway.provider.requests.length;
    for (const address of guarded.filter(({ method }) => method === 'POST')) {
      const response = await askAddress(gateway.url, address, owner.key);
      assertRefusal(response, address.envelope, { ...denied, param: 'model' });
      assert.match(response.text, /Allowed models: test-unrouted\./);
    }
    assert.equal(gateway.provider.requests.length, asked);
  });

  it('5 a key with models of its own sees no others in lists and details, and all in the public catalog', async () => {
    const owner = await createSubscriber(gateway, 'roomy');
    const { status } = await gateway.admin('PATCH', `/keys/${owner.keyId}`, { allowedModels: ['test-unrouted'] });
    assert.equal(status, 200);
    for (const address of guarded.filter(({ work }) => /Model(List|Detail)$|^model(List|Detail)$/.test(work))) {
      const response = await askAddress(gateway.url, address, owner.key);
      if (/Detail$/.test(address.work)) {
        assert.deepEqual([response.status, response.headers['x-error-code']], [404, 'model_not_found'], address.path);
      } else {
        const ids = response.json.data.map(({ id }: { id: string }) => id);
        assert.deepEqual(ids, address.path === '/v1/models' ? ['test-unrouted'] : [], address.path);
      }
    }
    const all = await askFor(gateway.url, '/v1/public/models');
    assert.ok(all.json.models.length > 5);
  });

  it('5 keys can be revoked, again without harm, and one that never was cannot', async () => {
    const { body } = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'twice' });
    for (let i = 0; i < 2; i++) assert.equal((await gateway.admin('DELETE', `/keys/${body.id}`)).status, 204);
    assert.equal((await gateway.admin('DELETE', '/keys/key_nothing')).status, 404);
  });

  it('5 calls of the Coding Plan take the same key and header: past the key, it is the plan that matters', async () => {
    const payer = await gateway.createAccount();
    const chat = await askAddress(gateway.url, find('/v1/chat/completions'), payer.key);
    assert.equal(chat.status, 200);
    const coding = await askAddress(gateway.url, find('/v1/coding/chat/completions'), payer.key);
    assertRefusal(coding, 'chat', noPlan(402));
    await assertSpent(payer, workOf(find('/v1/chat/completions')).costNano!);
    await subscribe(gateway, payer, 'roomy');
    assert.equal((await askAddress(gateway.url, find('/v1/coding/chat/completions'), payer.key)).status, 200);
    await assertSpent(payer, workOf(find('/v1/chat/completions')).costNano!);
  });

  it('5 every key of an account calls on the one plan of the account, and a revoked one on none', async () => {
    const payer = await createSubscriber(gateway, 'roomy');
    const chat = find('/v1/coding/chat/completions');
    const { body } = await gateway.admin('POST', `/accounts/${payer.id}/keys`, { name: 'second' });
    for (const key of [payer.key, body.key]) assert.equal((await askAddress(gateway.url, chat, key)).status, 200);
    assert.equal((await gateway.admin('DELETE', `/keys/${body.id}`)).status, 204);
    assertRefusal(await askAddress(gateway.url, chat, body.key), 'chat', badKey);
    await assertCounted(gateway, payer, { calls: 2, tokens: 2 * workOf(chat).tokens! });
  });

  it('5 an API key does not open the admin API, nor the admin token the public addresses', async () => {
    const response = await askFor(gateway.url, '/admin/v1/accounts', {
      headers: { authorization: `Bearer ${account.key}` },
    });
    assert.equal(response.status, 401);
    await assertRefusedEverywhere({ authorization: `Bearer ${ADMIN_TOKEN}` });
  });

  it('5 the refusal of a key gives the reason, and does not repeat the key', async () => {
    const said = new Set<string>();
    const unverified = await gateway.createAccount({ verified: false });
    for (const authorization of ['', `Basic ${account.key}`, `Bearer ${account.key}x`, `Bearer ${unverified.key}`]) {
      const headers = authorization === '' ? {} : { authorization };
      const { text, json } = await askAddress(gateway.url, find('/v1/models'), null, { headers });
      assert.ok(!text.includes(account.key) && !text.includes(unverified.key));
      said.add(json.error.message);
    }
    assert.equal(said.size, 4);
  });

  it('5 the credential is checked before the body and its type, so that a request without a key learns nothing', async () => {
    for (const address of guarded.filter(({ method }) => method === 'POST')) {
      const response = await askFor(gateway.url, urlOf(address), {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: '{"model":',
      });
      assertRefusal(response, address.envelope, badKey);
    }
  });

  it('5 a key is created once and shown once', async () => {
    const created = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'shown-once' });
    assert.equal(created.status, 201);
    assert.match(created.body.key, /^sk-fg-\w+$/);
    const { body } = await gateway.admin('GET', `/accounts/${account.id}/keys`);
    assert.ok(body.data.some(({ id }: { id: string }) => id === created.body.id));
    assert.ok(!JSON.stringify(body).includes(created.body.key));
  });

  it('5 keys are created in the console', async () => {
    const person = await createPerson(gateway, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const page = await fetch(`${gateway.url}/console`);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    // The page requests nothing else: test/console/pages shows it in a browser.
    const created = await ask(gateway, 'POST', '/keys', { name: 'console' }, person.headers);
    assert.equal(created.status, 201);
    const response = await askFor(gateway.url, '/v1/user/balance', {
      headers: { authorization: `Bearer ${created.body.key}` },
    });
    assert.equal(response.status, 200);
  });

  notTestable(
    '5 keys must not be written to public repositories or chat logs',
    'This is what their owners have to do, not the gateway.',
  );
});
