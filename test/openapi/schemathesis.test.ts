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
 * Runs schemathesis (https://schemathesis.readthedocs.io) against a real gateway, with valid and invalid values for everything in
 * `/openapi.json`. No response may be a server error, have an undocumented status, or violate its schema. Requires Python and, the first
 * time, a package registry.
 */
const VERSION = '4.32.5';
const MAX_EXAMPLES = '2';
const SEED = '20261122';
const { PATH, HOME } = process.env;
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
].join(',');

const python = pythonEnvironment(`schemathesis-${VERSION}`, [`schemathesis==${VERSION}`]);

/** Each part starts a program, which takes seconds. Operators' requests remove accounts and models, so they come last. */
const PARTS = { 'calls and account': '^/(?!admin/|metrics)', admin: '^/(admin/|metrics)' } as const;

/** Further paths of the same handlers, with another context or prefix. `test/conformance` calls all of them. */
const OTHER_SPELLINGS = '^/(altproto|compat|v2|v1/coding)/';

describe('all documented addresses', { skip: python.missing ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-schemathesis-'));
  const config = join(folder, 'schemathesis.toml');
  let gateway: TestGateway;

  before(async () => {
    gateway = await startGateway({
      plans: plansText({ starter: {} }),
      // This client is refused very often and would be throttled.
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
    // Random values are never existing ids.
    const ids = {
      accounts: account.id,
      keys: spare.id,
      calls: call.id,
      subscriptions: subscriptionId,
      models: 'test-chat',
    };
    const tokens = {
      '^/(?!admin/|metrics|account/)': account.key,
      '^/account/': accountKey.key,
      '^/(admin/|metrics)': ADMIN_TOKEN,
    };
    writeFileSync(config, PHASES + tokensOf(tokens) + idsOf(ids));
    const own = await fetch(`${gateway.url}/account/v1/account`, {
      headers: { authorization: `Bearer ${accountKey.key}` },
    });
    assert.equal(own.status, 200, await own.text());
  });
  after(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const [name, paths] of Object.entries(PARTS)) {
    it(`of the API for ${name} respond as documented`, async () => {
      const given = ['--config-file', config, 'run', `${gateway.url}/openapi.json`];
      const asked = ['--include-path-regex', paths, '--checks', CHECKS, '--phases', 'coverage,fuzzing'];
      const bounds = ['--max-examples', MAX_EXAMPLES, '--seed', SEED, '--no-shrink', '--continue-on-failure'];
      const output = ['--warnings', 'off', '--suppress-health-check', 'all'];
      const run = promisify(execFile)(python.program('schemathesis'), [...given, ...asked, ...bounds, ...output], {
        cwd: folder,
        // The client scans the whole environment for proxies twice per request.
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

/**
 * Sends each boundary value of a schema once per parameter and member, plus a few random values per operation, valid and invalid.
 * Generating a value costs ten times as much as sending it, and `test/fuzz` sends thousands of nearly valid ones.
 */
const PHASES = `[phases.coverage]
generation.mode = "positive"

[[operations]]
include-path-regex = "${OTHER_SPELLINGS}"
enabled = false

`;

/** The settings of credentials, by path expression. */
function tokensOf(tokens: Readonly<Record<string, string>>): string {
  return Object.entries(tokens)
    .map(
      ([paths, token]) =>
        `[[operations]]\ninclude-path-regex = "${paths}"\nheaders = { Authorization = "Bearer ${token}" }\n\n`,
    )
    .join('');
}

/** The settings of existing ids, by resource. */
function idsOf(ids: Readonly<Record<string, string>>): string {
  return Object.entries(ids)
    .map(([resource, id]) => {
      const name = resource === 'models' ? 'model' : 'id';
      return `[[operations]]\ninclude-path-regex = "/${resource}/\\\\{${name}\\\\}"\nparameters = { "path.${name}" = "${id}" }\n`;
    })
    .join('\n');
}
