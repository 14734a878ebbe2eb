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

/** Each is asked by a program that takes seconds to start. What operators do ends accounts and models, so it comes last. */
const PARTS = { 'calls and account': '^/(?!admin/|metrics)', admin: '^/(admin/|metrics)' } as const;

/** Paths that the other rows of the same handlers have, with another context or spelling before them. */
const OTHER_SPELLINGS = '^/(altproto|compat|v2|v1/coding)/';

describe('everything that is described', { skip: python.missing ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-schemathesis-'));
  const config = join(folder, 'schemathesis.toml');
  let gateway: TestGateway;

  before(async () => {
    gateway = await startGateway({
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
    it(`of the API for ${name} is responded to as it says`, async () => {
      const given = ['--config-file', config, 'run', `${gateway.url}/openapi.json`];
      const asked = ['--include-path-regex', paths, '--checks', CHECKS, '--phases', 'coverage,fuzzing'];
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

/**
 * Each value at an edge of what a description allows is sent, once for each parameter and member. Chance makes a few more for each
 * operation, allowed and not: inventing one costs ten times what sending it does, and `test/fuzz` sends thousands that nearly fit.
 */
const PHASES = `[phases.coverage]
generation.mode = "positive"

[[operations]]
include-path-regex = "${OTHER_SPELLINGS}"
phases.coverage.enabled = false

`;

/** The part of the settings that says who asks, by the expression of the paths. */
function tokensOf(tokens: Readonly<Record<string, string>>): string {
  return Object.entries(tokens)
    .map(
      ([paths, token]) =>
        `[[operations]]\ninclude-path-regex = "${paths}"\nheaders = { Authorization = "Bearer ${token}" }\n\n`,
    )
    .join('');
}

/** The part of the settings that says which ids there are, by the resource that a path names. */
function idsOf(ids: Readonly<Record<string, string>>): string {
  return Object.entries(ids)
    .map(([resource, id]) => {
      const name = resource === 'models' ? 'model' : 'id';
      return `[[operations]]\ninclude-path-regex = "/${resource}/\\\\{${name}\\\\}"\nparameters = { "path.${name}" = "${id}" }\n`;
    })
    .join('\n');
}
