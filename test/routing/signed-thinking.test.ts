import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { createSigner, type Signer } from '../support/signing-provider.ts';

/**
 * Two vendors serve a model. Each signs its thinking and rejects the other's signatures. Conversations are those of the official SDKs,
 * which send signed blocks back unchanged.
 */

const NAMES = ['first', 'second'] as const;
type Name = (typeof NAMES)[number];
const BUSY = json(503, { error: { type: 'overloaded_error', message: 'Busy.' } });

/** The next turn of a conversation: sends the history and a question, and stores the response. */
type Turn = (at: { readonly url: string; readonly key: string }) => Promise<void>;
type Converse = (model: string) => Turn;

// biome-ignore lint/suspicious/noExplicitAny: a history has whatever the responses had
type History = any[];

const messages =
  (isStream: boolean): Converse =>
  (model) => {
    const history: History = [];
    return async ({ url, key }) => {
      const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
      history.push({ role: 'user', content: 'Hello' });
      const request = { model, max_tokens: 64, messages: history };
      const made = isStream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      history.push({ role: 'assistant', content: made.content });
    };
  };

const responses =
  (isStream: boolean): Converse =>
  (model) => {
    const history: History = [];
    return async ({ url, key }) => {
      const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
      history.push({ role: 'user', content: 'Hello' });
      const request = { model, input: history, store: false, include: ['reasoning.encrypted_content' as const] };
      const made = isStream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
      history.push(...made.output);
    };
  };

const chat =
  (isStream: boolean): Converse =>
  (model) => {
    const history: History = [];
    return async ({ url, key }) => {
      const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
      history.push({ role: 'user', content: 'Hello' });
      if (!isStream) {
        history.push((await client.chat.completions.create({ model, messages: history })).choices[0]!.message);
        return;
      }
      const made: Record<string, unknown> = {};
      for await (const { choices } of await client.chat.completions.create({
        model,
        messages: history,
        stream: true,
      })) {
        for (const [name, value] of Object.entries(choices[0]?.delta ?? {})) {
          made[name] = typeof value === 'string' && name !== 'role' ? `${made[name] ?? ''}${value}` : value;
        }
      }
      history.push(made);
    };
  };

const KINDS: Readonly<Record<string, Converse>> = {
  'messages, non-streaming': messages(false),
  'messages, streams': messages(true),
  'responses, non-streaming': responses(false),
  'responses, streams': responses(true),
  'chat, non-streaming': chat(false),
  'chat, streams': chat(true),
};

describe(`signed thinking`, () => {
  let stored: TestDatabase;
  let gateway: TestGateway;
  let account: TestAccount;
  const providers: Partial<Record<Name, ScriptedProvider>> = {};
  const signers: Partial<Record<Name, Signer>> = {};
  /** The route that is drawn first: 0 for the first, 0.9 for the second. */
  let chance = 0;

  const options = () => ({
    stored,
    randomSource: () => chance,
    providers: NAMES.flatMap((name) =>
      ['chat', 'messages'].map((protocol) => {
        const path = protocol === 'chat' ? '/v1' : '';
        return `
  ${name}-${protocol}: { protocol: ${protocol}, baseUrl: "${providers[name]!.url}${path}", apiKey: ${name}-secret-key }`;
      }),
    )
      .concat(`
  keyed: { protocol: messages, baseUrl: "${providers.first!.url}", apiKeys: [${['one', 'two', 'six'].map((name) => `${name}-secret-key-of-keyed`).join(', ')}] }`)
      .join(''),
    models: `
  both:
    affinity: off
    operations: [messages, responses, chat]
    price: ${PRICE}
    routes:
${NAMES.flatMap((name) => ['chat', 'messages'].map((protocol) => `      - { provider: ${name}-${protocol}, model: ${name}-model }`)).join('\n')}
  keyed: { affinity: off, operations: [messages], price: ${PRICE}, routes: [{ provider: keyed, model: x }] }`,
  });

  before(async () => {
    stored = await createTestDatabase();
    for (const name of NAMES) providers[name] = await startProvider();
    gateway = await startGateway(options());
  });
  after(async () => {
    await gateway?.stop();
    await stored?.remove();
    for (const name of NAMES) await providers[name]?.close();
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    chance = 0;
    for (const name of NAMES) {
      signers[name] = createSigner(() => name);
      providers[name]!.respond = signers[name]!.respond;
    }
  });

  const [first, second] = NAMES.map((name) => () => signers[name]!) as [() => Signer, () => Signer];
  const here = () => ({ url: gateway.url, key: account.key });
  const accepted = (): number[] => NAMES.map((name) => signers[name]!.accepted.length);
  const refusals = (): number[] => NAMES.map((name) => signers[name]!.refusals);
  const setDrained = async (name: Name, isDrained: boolean): Promise<void> => {
    for (const protocol of ['chat', 'messages']) {
      const action = isDrained ? 'drain' : 'resume';
      const { status } = await gateway.admin('POST', `/routes/${action}`, { provider: `${name}-${protocol}` });
      assert.equal(status, 200);
    }
  };

  for (const [kind, converse] of Object.entries(KINDS)) {
    describe(kind, () => {
      it('is sent to its signer, whichever route is drawn', async () => {
        const turn = converse('both');
        for (const drawn of [0, 0.9, 0, 0.9]) {
          chance = drawn;
          await turn(here());
        }
        assert.deepEqual(
          [accepted(), refusals()],
          [
            [4, 0],
            [0, 0],
          ],
        );
        assert.ok(first().accepted.at(-1)!.length >= 3);
      });

      it('is sent to another provider while its signer is down, and then stays with the newest signer', async () => {
        second().isLenient = true;
        const turn = converse('both');
        await turn(here());
        first().fault = BUSY;
        await turn(here());
        first().fault = null;
        await turn(here());
        assert.deepEqual(
          [accepted(), refusals()],
          [
            [1, 2],
            [0, 0],
          ],
        );
      });

      it('is not aborted while its signer is down: the client may retry', async () => {
        const turn = converse('both');
        await turn(here());
        first().fault = BUSY;
        await assert.rejects(turn(here()), { status: 503 });
        assert.deepEqual(refusals(), [0, 1]);
        first().fault = null;
        await turn(here());
        assert.deepEqual(accepted(), [2, 0]);
      });

      it('is sent to another provider if its signer is drained, and back if that rejects the signature', async () => {
        const turn = converse('both');
        await turn(here());
        await setDrained('first', true);
        try {
          await turn(here());
          assert.deepEqual(
            [accepted(), refusals()],
            [
              [2, 0],
              [0, 1],
            ],
          );
          second().isLenient = true;
          await turn(here());
          assert.deepEqual(accepted(), [2, 1]);
        } finally {
          await setDrained('first', false);
        }
      });

      it('of unknown origin, since another account received it, is tried at the next route', async () => {
        const turn = converse('both');
        chance = 0.9;
        await turn(here());
        chance = 0;
        const other = await gateway.createAccount();
        await turn({ url: gateway.url, key: other.key });
        await turn({ url: gateway.url, key: other.key });
        assert.deepEqual(
          [accepted(), refusals()],
          [
            [0, 3],
            [1, 0],
          ],
        );
      });
    });
  }

  it('is known on every node', async () => {
    const turn = messages(false)('both');
    await turn(here());
    const other = await startGateway({
      ...options(),
      database: stored.openAnother(),
      randomSource: () => 0.9,
    });
    try {
      await turn({ url: other.url, key: account.key });
    } finally {
      await other.stop();
    }
    assert.deepEqual(accepted(), [2, 0]);
  });

  const turnsOf = (key: string, model = 'both') => {
    const client = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 });
    return (...history: History) =>
      client.messages.create({ model, max_tokens: 64, messages: [...history, { role: 'user', content: 'Hello' }] });
  };
  const thought = (signature: string) => ({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'text', text: 'x' },
    ],
  });
  const asked = { role: 'user', content: 'Hello' };

  it("created elsewhere is tried at each route once, and the client receives the vendor's last error", async () => {
    const send = turnsOf(account.key);
    assert.equal((await send(asked, thought('second-elsewhere'))).stop_reason, 'end_turn');
    assert.deepEqual(
      [accepted(), refusals()],
      [
        [0, 1],
        [1, 0],
      ],
    );
    await account.endedCall();
    const { route, failedRoutes } = await account.lastCall();
    assert.equal(route.provider, 'second-messages');
    assert.deepEqual(
      failedRoutes.map(({ provider }: { provider: string }) => provider),
      ['first-messages'],
    );
    const money = await account.money();
    await assert.rejects(send(asked, thought('nobody-1')), {
      status: 400,
      message: /Invalid `signature` in `thinking` block/,
    });
    assert.deepEqual(refusals(), [2, 1]);
    assert.equal((await account.endedCall(2)).status, 'failed');
    assert.deepEqual(await account.money(), money);
  });

  it('of the next call prefers the provider that accepted it', async () => {
    const send = turnsOf(account.key);
    const { content } = await send(asked, thought('second-elsewhere'));
    await send(asked, thought('second-elsewhere'), asked, { role: 'assistant', content });
    assert.deepEqual(
      [accepted(), refusals()],
      [
        [0, 2],
        [1, 0],
      ],
    );
  });

  it('does not affect the health of a route, and other invalid requests are not retried', async () => {
    const send = turnsOf(account.key);
    for (let i = 0; i < 20; i++) await assert.rejects(send(asked, thought('nobody-1')), { status: 400 });
    await send();
    assert.deepEqual(accepted(), [1, 0]);
    const message = 'messages.0.content.0: Invalid `data` in `image` block';
    first().fault = json(400, { type: 'error', error: { type: 'invalid_request_error', message } });
    await assert.rejects(send(), { status: 400 });
    assert.deepEqual(accepted(), [1, 0]);
  });

  it('is tried at the next route if a stream begins with the refusal', async () => {
    first().refusesInStream = true;
    const client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'second-elsewhere' }, asked];
    const made = client.responses.stream({
      model: 'both',
      store: false,
      input: input as OpenAI.Responses.ResponseInput,
    });
    assert.equal((await made.finalResponse()).status, 'completed');
    assert.deepEqual(
      [accepted(), refusals()],
      [
        [0, 1],
        [1, 0],
      ],
    );
  });

  it('is tried with each credential of a provider, since they may belong to different accounts', async () => {
    const byCredential = createSigner(({ headers }) => String(headers['x-api-key']).slice(0, 3));
    providers.first!.respond = byCredential.respond;
    const turn = messages(false)('keyed');
    for (let i = 0; i < 6; i++) await turn(here());
    assert.equal(byCredential.accepted.length, 6);
    await assert.rejects(turnsOf(account.key, 'keyed')(asked, thought('nobody-1')), { status: 400 });
  });

  it('is neither recorded nor looked up if a model has only one provider', async () => {
    const lookups = gateway.observed.statement('routing.find-affinities');
    const before = lookups.asked;
    const turn = messages(true)('keyed');
    providers.first!.respond = createSigner(() => 'one').respond;
    for (let i = 0; i < 3; i++) await turn(here());
    await account.endedCall(3);
    assert.equal(lookups.asked, before);
    const rows = await gateway.database.query(
      {
        name: 'test.continuation-keys',
        text: 'select key from continuation_keys where account_id = $1',
      },
      [account.id],
    );
    assert.deepEqual(rows, []);
  });
});
