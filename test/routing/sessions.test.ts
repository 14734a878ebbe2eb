import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const ROUTES = '[{ provider: one, model: x }, { provider: two, model: x, weight: 2 }]';

/** Calls of a session use the route that has its prompt cached. */
describe('sessions', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  const providers: ScriptedProvider[] = [];

  before(async () => {
    providers.push(await startProvider(), await startProvider());
    const [one, two] = providers.map(({ url }) => url);
    gateway = await startGateway({
      providers: `
  one: { protocol: chat, baseUrl: "${one}/v1", apiKeys: [key-one-a-1, key-one-b-2, key-one-c-3] }
  two: { protocol: chat, baseUrl: "${two}/v1", apiKey: key-two }`,
      models: `
  sticky: { operations: [chat], price: { input: "3", output: "13" }, routes: ${ROUTES} }
  unbound: { affinity: off, operations: [chat], price: { input: "3", output: "13" }, routes: ${ROUTES} }
  keyed: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: one, model: x }] }`,
    });
  });
  after(async () => {
    await gateway.stop();
    await Promise.all(providers.map((each) => each.close()));
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    for (const each of providers) {
      each.requests.length = 0;
      each.respond = json(200, chatCompletion(USAGE));
    }
  });

  const send = (body: object, headers: Record<string, string> = {}) =>
    call(`${gateway.url}/v1/chat/completions`, account.key, { model: 'sticky', ...body }, { headers });
  const turns = (count: number, first = 'Hello') =>
    Array.from({ length: 2 * count - 1 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: i === 0 ? first : `turn ${i}`,
    }));
  /** Number of calls per provider since the last check. */
  const counts = (): number[] => providers.map(({ requests }) => requests.splice(0).length);

  async function assertOneProvider(calls: readonly (() => Promise<unknown>)[]): Promise<void> {
    for (const each of calls) await each();
    const [one, two] = counts();
    assert.ok(one === 0 || two === 0, `${one}:${two}`);
    assert.equal(one! + two!, calls.length);
  }

  it('are identified by a cache key, a header, a user id or the beginning of the conversation, and keep their route', async () => {
    for (let i = 0; i < 6; i++) {
      const growing = [1, 2, 3, 4];
      await assertOneProvider(
        growing.map((n) => () => send({ messages: turns(n, `${n}`), prompt_cache_key: `k${i}` })),
      );
      await assertOneProvider(
        growing.map((n) => () => send({ messages: turns(n, `${n}`) }, { 'session-id': `s${i}` })),
      );
      await assertOneProvider(
        growing.map((n) => () => send({ messages: turns(n, `${n}`), metadata: { user_id: `u${i}` } })),
      );
      await assertOneProvider(growing.map((n) => () => send({ messages: turns(n, `Hello ${i}`) })));
    }
  });

  it('are distributed over routes, and the record contains the source of the session and its route', async () => {
    for (let i = 0; i < 30; i++) await send({ messages: turns(1), prompt_cache_key: `spread ${i}` });
    const [one, two] = counts();
    // Weights only show with many sessions (`session-simulation.test.ts`): the routes of these depend on the account id.
    assert.ok(one! > 0 && two! > 0, `${one}:${two}`);
    await account.endedCall(30);
    const { session, route } = await account.lastCall();
    assert.deepEqual(session, { source: 'prompt_cache_key', route });
  });

  it('use their second choice while the first one refuses, and return', async () => {
    const first = async (): Promise<number> => {
      await send({ messages: turns(1), prompt_cache_key: 'moves' });
      return counts().indexOf(1);
    };
    const own = await first();
    providers[own]!.respond = json(503, { error: { message: 'Busy.' } });
    await send({ messages: turns(1), prompt_cache_key: 'moves' });
    assert.deepEqual(counts(), [1, 1]);
    await account.endedCall(2);
    const { session, route } = await account.lastCall();
    assert.notEqual(session.route.provider, route.provider);
    providers[own]!.respond = json(200, chatCompletion(USAGE));
    assert.equal(await first(), own);
  });

  it('are ignored for a model without affinity', async () => {
    for (let i = 0; i < 40; i++) await send({ model: 'unbound', messages: turns(1), prompt_cache_key: 'same' });
    assert.ok(Math.min(...counts()) > 0);
    await account.endedCall(40);
    assert.equal((await account.lastCall()).session, null);
  });

  it('keep one of the credentials of a provider', async () => {
    const credentials = new Set<string | undefined>();
    for (let session = 0; session < 40; session++) {
      const used = new Set<string | undefined>();
      for (let i = 0; i < 3; i++) {
        await send({ model: 'keyed', messages: turns(i + 1), prompt_cache_key: `credential ${session}` });
        used.add(providers[0]!.requests.at(-1)!.headers.authorization);
      }
      assert.equal(used.size, 1);
      for (const each of used) credentials.add(each);
    }
    assert.equal(credentials.size, 3);
  });
});
