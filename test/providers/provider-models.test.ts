import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';
import { json, type Respond, type ScriptedProvider, startProvider } from '../support/provider.ts';

/** The list of models that a provider returns: `GET /admin/v1/providers/:id/models`. */

const GOOD = 'good-secret-key';
const BAD = 'withdrawn-secret-key';

describe("a provider's list of models", () => {
  let listing: ScriptedProvider;
  let gateway: TestGateway;

  before(async () => {
    listing = await startProvider();
    gateway = await startGateway({
      providers: `
  several: { protocol: chat, baseUrl: "${listing.url}/v1", apiKeys: [${BAD}, ${GOOD}] }
  letters: { protocol: messages, vendor: anthropic, baseUrl: "${listing.url}", apiKey: ${GOOD} }
  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: ${GOOD} }`,
    });
  });
  after(async () => {
    await gateway?.stop();
    await listing?.close();
  });
  beforeEach(() => {
    listing.requests.length = 0;
  });

  const list = (provider: string) => gateway.admin('GET', `/providers/${provider}/models`);
  const none = { displayName: null, contextLength: null, maxOutputTokens: null };

  it('is read with the first credential that the provider accepts, and changes no state', async () => {
    const byCredential: Respond = (request, response) =>
      request.headers.authorization === `Bearer ${GOOD}`
        ? json(200, { object: 'list', data: [{ id: 'large' }, { id: 'small', context_window: 8_192 }] })(
            request,
            response,
          )
        : json(401, { error: { message: `Incorrect API key provided: ${BAD}` } })(request, response);
    listing.respond = byCredential;
    const { status, body } = await list('several');
    assert.deepEqual(
      [status, body],
      [
        200,
        {
          data: [
            { ...none, id: 'large' },
            { ...none, id: 'small', contextLength: 8_192 },
          ],
          hasMore: false,
          message: null,
        },
      ],
    );
    assert.deepEqual(
      listing.requests.map(({ method, path }) => `${method} ${path}`),
      ['GET /v1/models', 'GET /v1/models'],
    );
  });

  it('has the limits and names of other formats', async () => {
    listing.respond = json(200, {
      data: [{ type: 'model', id: 'opus', display_name: 'Opus', max_input_tokens: 200_000, max_tokens: 64_000 }],
      has_more: true,
    });
    assert.deepEqual((await list('letters')).body, {
      data: [{ id: 'opus', displayName: 'Opus', contextLength: 200_000, maxOutputTokens: 64_000 }],
      hasMore: true,
      message: null,
    });
    const [request] = listing.requests;
    assert.deepEqual(
      [request!.path, request!.headers['x-api-key'], typeof request!.headers['anthropic-version']],
      ['/v1/models?limit=1000', GOOD, 'string'],
    );
    listing.respond = json(200, {
      models: [
        { name: 'models/gemini' },
        { name: 'llama' },
        { name: 'a\u202eb' },
        'text',
        { id: 7 },
        { name: 'llama' },
      ],
    });
    assert.deepEqual(
      (await list('several')).body.data.map(({ id }: { id: string }) => id),
      ['gemini', 'llama'],
    );
  });

  it('says in words why it cannot be read, without credentials', async () => {
    const messageOf = async (provider: string, respond: Respond): Promise<string> => {
      listing.respond = respond;
      const { status, body } = await list(provider);
      assert.equal(status, 200);
      assert.deepEqual(body.data, []);
      assert.doesNotMatch(JSON.stringify(body), /secret-key/);
      return body.message;
    };
    assert.match(
      await messageOf('several', json(401, { error: { message: `Incorrect API key provided: ${BAD}` } })),
      /Incorrect API key/,
    );
    assert.equal(listing.requests.length, 2);
    assert.match(await messageOf('several', json(404, { error: { message: 'No such address.' } })), /No such address/);
    assert.equal(await messageOf('several', json(200, { data: 1 })), 'The response is not a list of models.');
    assert.match(
      await messageOf('several', json(200, { data: [{ id: 'x'.repeat(9 * 1024 * 1024) }] })),
      /^The list is larger than 8388608 bytes\.$/,
    );
    assert.match(await messageOf('away', json(200, {})), /ECONNREFUSED/);
  });

  it('is for operators, and of known providers', async () => {
    assert.equal((await list('nowhere')).status, 404);
    const auditor = await createPerson(gateway, { name: 'Audrey', operatorRole: 'auditor' });
    const { status } = await ask(gateway, 'GET', '/admin/v1/providers/several/models', undefined, auditor.headers);
    assert.equal(status, 403);
    assert.equal(listing.requests.length, 0);
  });
});
