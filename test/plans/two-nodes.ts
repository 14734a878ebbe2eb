import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createTestDatabase } from '../support/database.ts';
import { testConfigText } from '../support/gateway.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { handlesOf } from '../support/spread-database.ts';
import { nothingInFlight } from './coding.ts';

const ADMIN_TOKEN = 'admin-token-of-two-nodes';

/** Two gateways in separate processes on one PostgreSQL, with an account that has a plan. */
export interface TwoNodes {
  readonly urls: readonly string[];
  /** A key of the account. */
  readonly key: string;
  readonly provider: ScriptedProvider;
}

/**
 * Calls `use` while two nodes serve the plan `planId` of `plans`, the `plans` section of a configuration. Fails if a call
 * stays in flight afterwards, an invariant of the ledger is broken, or a node does not end with exit code 0.
 */
export async function onTwoNodes(
  plans: string,
  planId: string,
  use: (scene: TwoNodes) => Promise<void>,
): Promise<void> {
  const stored = await createTestDatabase(partitionsOfFile);
  const directory = temporaryDirectory();
  const provider = await startProvider();
  const file = join(directory.path, 'two.yaml');
  writeFileSync(file, testConfigText(provider.url, { plans, dataDir: join(directory.path, 'data') }));
  const environment = { DATABASE_URL: stored.url, FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN };
  const nodes = [0, 1].map(() => startProgram(['serve', '--config', file], { environment, directory: directory.path }));
  try {
    const urls: string[] = [];
    for (const node of nodes) urls.push(/listening on (\S+)/.exec(await node.printed(/listening on \S+\n/))![1]!);
    const account = await create(urls[0]!, '/accounts', { name: 'racer', verified: true });
    const { key } = await create(urls[0]!, `/accounts/${account.id}/keys`, { name: 'test' });
    await create(urls[0]!, `/accounts/${account.id}/subscriptions`, { planId });
    await use({ urls, key, provider });
    await nothingInFlight(stored.database, account.id);
    const breaches = (await auditLedger(handlesOf(stored.database))).flatMap((result) => result.breaches);
    assert.deepEqual(breaches, []);
  } finally {
    for (const node of nodes) node.child.kill('SIGINT');
    const codes = await Promise.all(nodes.map(async ({ finished }) => (await finished).code));
    await provider.close();
    await stored.remove();
    directory.remove();
    assert.deepEqual(codes, [0, 0]);
  }
}

/** Creates something by the admin API of a node. */
async function create(url: string, path: string, body: object): Promise<{ id: string; key: string }> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201);
  return (await response.json()) as { id: string; key: string };
}
