import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { runCommand, type ServedHere, serveHere } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** The way of an operator from a gateway with an empty catalog to a charged call, by commands only. */

const CREDENTIAL = 'sk-of-the-vendor-1';
const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const hello = { model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

const PROVIDER = (url: string) => `providers:
  acme:
    protocol: chat
    baseUrl: ${url}/v1
    apiKey: { secret: acme }
`;
const MODELS = `models:
  acme-large:
    operations: [chat]
    price: { input: "4", output: "16", later: [{ from: 2099-12-01, input: "4", output: "14" }] }
    routes: [{ provider: acme, model: large-1 }]
  acme-small:
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: acme, model: small-1 }]
`;
const PLAN_AND_GROUP = `plans:
  coder:
    name: Coder
    models: [acme-small]
    fiveHourCalls: 100
    weeklyCalls: 1000
    concurrency: 2
    quotaTokens: 1000000
    periodDays: 30
    inputByteLimit: 4MiB
    outputTokenLimit: 1000
groups:
  resellers:
    name: Resellers
    prices:
      acme-large: { input: "3", output: "12" }
`;

const directory = temporaryDirectory();
after(() => directory.remove());

describe('an empty catalog', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let provider: ScriptedProvider;
  let gateway: ServedHere | null = null;
  const environment: Record<string, string> = {
    FAREGATE_DATA_DIR: join(directory.path, 'data'),
    FAREGATE_CONFIG: join(directory.path, 'faregate.yaml'),
    FAREGATE_ADMIN_TOKEN: 'an-admin-token-of-a-test',
    PORT: '0',
  };

  before(async () => {
    stored = await createTestDatabase();
    provider = await startProvider();
    provider.respond = json(200, chatCompletion(USAGE));
    environment.DATABASE_URL = stored.url;
    writeFileSync(environment.FAREGATE_CONFIG!, 'catalog: database\n');
  });
  after(async () => {
    await gateway?.stop();
    await provider.close();
    await stored.remove();
  });

  /** Runs a command that must succeed, and returns what it prints. */
  async function faregate(given: readonly string[], stdin?: string): Promise<string> {
    const named = gateway === null ? given : ['--gateway', gateway.url, ...given];
    const { code, stdout, stderr } = await runCommand(named, environment, stdin);
    assert.equal(code, 0, `faregate ${given.join(' ')}: ${stderr}${stdout}`);
    return stdout.trim();
  }
  const pushed = (text: string, reason: string) => faregate(['catalog', 'push', '-', '--reason', reason], text);

  it('leads by commands alone to a call that is charged at the price of the group', async () => {
    environment.FAREGATE_SECRETS_KEY = await faregate(['secret', 'new-key']);
    gateway = await serveHere([], environment);
    assert.match(await faregate(['catalog', 'history']), /There are no revisions/);

    await faregate(['secret', 'set', 'acme'], CREDENTIAL);
    let text = PROVIDER(provider.url);
    assert.match(await pushed(text, 'our vendor'), /acme: provider/);
    text += MODELS;
    assert.match(await pushed(text, 'two models'), /acme-large: model[\s\S]*acme-small: model/);
    text += PLAN_AND_GROUP;
    assert.match(await pushed(text, 'a plan, and resellers'), /coder: plan[\s\S]*resellers: group/);
    assert.equal(await faregate(['catalog', 'show']), text.trim());
    await until(async () => /resellers/.test(await faregate(['group', 'list'])));
    assert.match(await faregate(['provider', 'test', 'acme', 'acme-small']), /succeeded[\s\S]*0\.0012/);

    await faregate(['account', 'create', 'alice', '--verified', '--balance', '10', '--group', 'resellers']);
    assert.match(await faregate(['account', 'list', '--group', 'resellers']), /alice/);
    await faregate(['plan', 'grant', 'alice', 'coder']);
    const { key } = JSON.parse(await faregate(['key', 'create', 'alice', '--json']));

    const response = await call(`${gateway.url}/v1/chat/completions`, key, hello);
    assert.equal(response.status, 200, response.text);
    const request = provider.requests.at(-1)!;
    assert.equal(request.headers.authorization, `Bearer ${CREDENTIAL}`);
    // 1,000 tokens at ¥3 and 100 tokens at ¥12 per million; the model itself costs ¥4 and ¥16.
    const charged = async () => JSON.parse(await faregate(['calls', '--account', 'alice', '--json']))[0]?.chargeYuan;
    await until(async () => (await charged()) === '0.0042');
    assert.match(await faregate(['account', 'show', 'alice']), /9\.9958/);
  });
});
