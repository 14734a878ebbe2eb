import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { responseAnything } from '../conformance/addresses.ts';
import { plansText, subscribe } from '../conformance/plans.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { pythonEnvironment } from '../support/python.ts';

/**
 * Asks a real gateway for everything that its `/openapi.json` describes, with values that fit the description and values that do
 * not, by schemathesis (https://schemathesis.readthedocs.io): no response may be a failure of the gateway, have a status that is not
 * described, or not fit its schema. It needs Python and, the first time, a package registry.
 */
const VERSION = '4.32.5';
const MAX_EXAMPLES = '5';
const SEED = '20261122';
const { PATH, HOME } = process.env;
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
].join(',');

const python = pythonEnvironment(`schemathesis-${VERSION}`, [`schemathesis==${VERSION}`]);

const PARTS = {
  public: '^/(v1|v2|altproto|compat|user|healthz|readyz|openapi.json|$)',
  account: '^/account/',
  admin: '^/(admin/|metrics)',
} as const;

describe('everything that is described', { skip: python.missing ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-schemathesis-'));
  const config = join(folder, 'schemathesis.toml');
  let gateway: TestGateway;
  let tokens: Readonly<Record<keyof typeof PARTS, string>>;

  before(async () => {
    gateway = await startGateway({
      engine: 'postgresql',
      plans: plansText({ starter: {} }),
      // Who is refused often is made to wait, and this client is refused very often.
      monotonicMs: () => performance.now() * 1_000,
    });
    gateway.provider.respond = responseAnything;
    const account = await gateway.createAccount();
    const subscriptionId = await subscribe(gateway, account, 'starter');
    const newKey = async (scopes: readonly string[]) => {
      const { body } = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'fuzzed', scopes });
      return body as { readonly id: string; readonly key: string };
    };
    const [accountKey, spare] = [await newKey(['account']), await newKey(['calls'])];
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const chat = { method: 'POST', headers, body: JSON.stringify({ model: 'test-chat', messages: [] }) };
    await (await fetch(`${gateway.url}/v1/chat/completions`, chat)).arrayBuffer();
    const call = await account.endedCall();
    // Random values are never ids of anything.
    const ids = {
      accounts: account.id,
      keys: spare.id,
      calls: call.id,
      subscriptions: subscriptionId,
      models: 'test-chat',
    };
    writeFileSync(config, idsOf(ids));
    const own = await fetch(`${gateway.url}/account/v1/account`, {
      headers: { authorization: `Bearer ${accountKey.key}` },
    });
    assert.equal(own.status, 200, await own.text());
    tokens = { public: account.key, account: accountKey.key, admin: ADMIN_TOKEN };
  });
  after(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const [name, paths] of Object.entries(PARTS) as [keyof typeof PARTS, string][]) {
    it(`of the ${name} API is responded to as it says`, async () => {
      const header = `Authorization: Bearer ${tokens[name]}`;
      const given = ['--config-file', config, 'run', `${gateway.url}/openapi.json`, '-H', header];
      const asked = ['--include-path-regex', paths, '--checks', CHECKS, '--phases', 'examples,coverage,fuzzing'];
      const bounds = ['--max-examples', MAX_EXAMPLES, '--seed', SEED, '--no-shrink', '--continue-on-failure'];
      const output = ['--warnings', 'off', '--suppress-health-check', 'all'];
      const run = promisify(execFile)(python.program('schemathesis'), [...given, ...asked, ...bounds, ...output], {
        cwd: folder,
        // Its client looks through the whole environment for proxies, twice for each request.
        env: { PATH, HOME },
        maxBuffer: 64 * 1024 * 1024,
      });
      const { stdout, isSuccess } = await run.then(
        (done) => ({ stdout: done.stdout, isSuccess: true }),
        (error: { stdout: string }) => ({ stdout: error.stdout, isSuccess: false }),
      );
      assert.ok(isSuccess, stdout);
      assert.match(stdout, /No issues found/);
    });
  }
});

/** The part of the settings that says which ids there are, by the resource that a path names. */
function idsOf(ids: Readonly<Record<string, string>>): string {
  return Object.entries(ids)
    .map(([resource, id]) => {
      const name = resource === 'models' ? 'model' : 'id';
      return `[[operations]]\ninclude-path-regex = "/${resource}/\\\\{${name}\\\\}"\nparameters = { "path.${name}" = "${id}" }\n`;
    })
    .join('\n');
}
