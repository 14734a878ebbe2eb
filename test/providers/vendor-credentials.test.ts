import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CANARIES } from '../support/canaries.ts';
import { call } from '../support/client.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import {
  ADMIN_TOKEN,
  assertSpent,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { chatResponse, json, type ReceivedRequest, type ScriptedProvider, startProvider } from '../support/provider.ts';

/** Vendors that sign differently: servers that check what the vendors document, and credentials that commands print. */

const DEPLOYMENT = 'my-deployment';
const TOKEN = CANARIES[2]!;
const LIFE_MS = 1_000;

/** Prints another token in each run, as JSON with its expiry, and notes the run. */
const PRINT = `const fs = require('node:fs');
fs.appendFileSync(process.argv[1], Date.now() + '\\n');
process.stdout.write(JSON.stringify({ access_token: ${JSON.stringify(TOKEN)} + Date.now(), expires_in: ${LIFE_MS / 1_000} }));`;

describe('vendors that sign differently', () => {
  const directory = makeFastDirectory('faregate-commands-');
  const runs = join(directory, 'runs');
  /** When the command was started. */
  const startsMs = (): number[] => readFileSync(runs, 'utf8').trim().split('\n').map(Number);
  let vendor: ScriptedProvider;
  let gateway: TestGateway;
  let account: TestAccount;
  const tokens = new Set<string>();

  /** Azure's v1 address (https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle). */
  function isForAzure({ path, headers, body }: ReceivedRequest): boolean {
    const isSigned = headers['api-key'] === 'provider-secret-key-3' && headers.authorization === undefined;
    return (
      path === '/openai/v1/chat/completions?api-version=preview' &&
      isSigned &&
      JSON.parse(body.toString()).model === DEPLOYMENT
    );
  }

  /** Vertex AI's compatible address, with an access token that is valid for a second. */
  function isForVertex({ path, headers }: ReceivedRequest): boolean {
    const [scheme, token = ''] = headers.authorization?.split(' ') ?? [];
    const printedAtMs = Number(token.slice(TOKEN.length));
    tokens.add(token);
    // The second between sending and reading is for slow machines.
    const isValid = token.startsWith(TOKEN) && Date.now() < printedAtMs + LIFE_MS + 1_000;
    return path === '/v1/projects/p/locations/l/endpoints/openapi/chat/completions' && scheme === 'Bearer' && isValid;
  }

  before(async () => {
    vendor = await startProvider();
    vendor.respond = (request, response) =>
      (isForAzure(request) || isForVertex(request)
        ? chatResponse()
        : json(401, { error: { message: 'Access denied.' } }))(request, response);
    const route = (provider: string, model: string) => `{ provider: ${provider}, model: ${model} }`;
    const model = (...routes: string[]) => `{ operations: [chat], price: ${PRICE}, routes: [${routes.join(', ')}] }`;
    gateway = await startGateway({
      noticeSettings: `credentialCommands:
  tokens: { run: ["${process.execPath}", -e, ${JSON.stringify(PRINT)}, "${runs}"] }
  failing: { run: ["${process.execPath}", -e, "process.exit(7)"] }
  endless: { run: [echo, '{"token":"${TOKEN}","expires_in":9223372036854775807}'] }`,
      providers: `  azure: { protocol: chat, baseUrl: "${vendor.url}/openai/v1/?api-version=preview", auth: api-key, apiKey: provider-secret-key-3 }
  vertex: { protocol: chat, baseUrl: "${vendor.url}/v1/projects/p/locations/l/endpoints/openapi", apiKey: { command: tokens } }
  twin: { protocol: chat, baseUrl: "${vendor.url}/v1/projects/p/locations/l/endpoints/openapi", apiKey: { command: tokens } }
  broken: { protocol: chat, baseUrl: "${vendor.url}/v1", apiKey: { command: failing } }
  endless: { protocol: chat, baseUrl: "${vendor.url}/v1", apiKey: { command: endless } }`,
      models: `  azure: ${model(route('azure', DEPLOYMENT))}
  vertex: ${model(route('vertex', 'google/m'))}
  twin: ${model(route('twin', 'google/m'))}
  broken: ${model(route('broken', 'm'))}
  endless: ${model(route('endless', 'm'))}
  rescued: ${model(`{ provider: broken, model: m, priority: 0 }`, `{ provider: azure, model: ${DEPLOYMENT}, priority: 1 }`)}`,
    });
    account = await gateway.createAccount();
  });
  after(async () => {
    await gateway.stop();
    await vendor.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const chat = (model: string, { key }: TestAccount = account) =>
    call(`${gateway.url}/v1/chat/completions`, key, { model, messages: [] });
  const credentialOf = async (provider: string) => {
    const { body } = await gateway.admin('GET', '/routes');
    return body.data.find((each: { provider: string }) => each.provider === provider).credentials[0];
  };

  test('Azure gets its key in api-key, and the query of baseUrl', async () => {
    const response = await chat('azure');
    assert.equal(response.status, 200, response.text);
  });

  test('a credential of a command is renewed while calls run: none fails, and the command runs once for all', async () => {
    const own = await gateway.createAccount();
    let count = 0;
    while (tokens.size < 4) {
      const responses = await Promise.all([chat('vertex', own), chat('twin', own), chat('vertex', own)]);
      for (const { status, text } of responses) assert.equal(status, 200, text);
      count += responses.length;
    }
    await assertSpent(own, costNano({ input: 11, output: 7 }) * BigInt(count));
    // A renewal is due after half of the life of a token. Another start sooner would be a second run for the same token.
    const gapsMs = startsMs().map((ms, index, all) => (index === 0 ? LIFE_MS : ms - all[index - 1]!));
    assert.ok(Math.min(...gapsMs) > LIFE_MS / 3, String(gapsMs));
    const credential = await credentialOf('vertex');
    assert.equal(credential.command, 'tokens');
    assert.ok(credential.state === 'missing' || Date.parse(credential.expiresAt) > Date.now() - LIFE_MS);
    assert.ok(!JSON.stringify(credential).includes(TOKEN));
  });

  test('an expiry that no date can express counts as unknown, and routes can still be listed', async () => {
    await chat('endless', await gateway.createAccount());
    assert.equal((await credentialOf('endless')).expiresAt, null);
  });

  test('a command that fails is the failure of its route: another one serves, and nothing is charged without one', async () => {
    const own = await gateway.createAccount();
    const rescued = await chat('rescued', own);
    assert.equal(rescued.status, 200, rescued.text);
    assert.equal((await own.lastCall()).route.provider, 'azure');
    const refused = await chat('broken', own);
    assert.equal(refused.status, 502);
    assert.equal(refused.json.error.code, 'upstream_error');
    assert.match(refused.json.error.message, /no credential for the provider/);
    await assertSpent(own, costNano({ input: 11, output: 7 }));
    const { state, command, triedAgainAt } = await credentialOf('broken');
    assert.deepEqual([state, command], ['missing', 'failing']);
    assert.notEqual(triedAgainAt, null);
    const metrics = await (
      await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    ).text();
    assert.match(metrics, /faregate_provider_credentials\{provider="broken",state="missing"\} 1/);
    const tested = await gateway.admin('POST', '/providers/broken/test', {});
    assert.equal(tested.status, 400);
    assert.match(tested.body.error.message, /The command ended with exit code 7/);
    assert.equal((await gateway.admin('POST', '/providers/vertex/test', {})).body.results[0].httpStatus, 200);
  });
});
