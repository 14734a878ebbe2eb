import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import type { AdminClient } from '../../api/admin/client.ts';
import { replaceFile } from '../../lib/durable-files.ts';

/**
 * The demo's account and key. A file beside the database, readable by its owner only, stores them, so that the printed
 * key still works after a restart. Outside the demo the text of a key is never stored.
 */
export interface DemoAccount {
  readonly accountId: string;
  readonly key: string;
}

const FILE = 'demo.json';
const BALANCE_YUAN = '100';
const PLAN_ID = 'demo-coding';

/**
 * Returns the account of an earlier start where the database still has it, else a new account with ¥100 and a key. Grants
 * its plan again where the subscription has ended.
 */
export async function ensureDemoAccount(dataDir: string, admin: AdminClient): Promise<DemoAccount> {
  const known = readDemoAccount(dataDir);
  const demo = known !== null && (await isStored(known, admin)) ? known : await createDemoAccount(dataDir, admin);
  await ensurePlan(demo.accountId, admin);
  return demo;
}

async function createDemoAccount(dataDir: string, admin: AdminClient): Promise<DemoAccount> {
  const account = await admin.request<{ id: string }>('POST', '/accounts', {
    name: 'demo',
    verified: true,
    balanceYuan: BALANCE_YUAN,
  });
  const { key } = await admin.request<{ key: string }>('POST', `/accounts/${account.id}/keys`, { name: 'demo' });
  const demo = { accountId: account.id, key };
  await replaceFile(join(dataDir, FILE), JSON.stringify(demo), 0o600);
  return demo;
}

async function ensurePlan(accountId: string, admin: AdminClient): Promise<void> {
  const path = `/accounts/${accountId}/subscriptions`;
  const { data } = await admin.request<{ data: { status: string }[] }>('GET', path);
  if (!data.some(({ status }) => status === 'active')) await admin.request('POST', path, { planId: PLAN_ID });
}

/** What `demo.json` says; `null` where there is none, or none that can be read. */
export function readDemoAccount(dataDir: string): DemoAccount | null {
  try {
    const demo = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Partial<DemoAccount>;
    return typeof demo.accountId === 'string' && typeof demo.key === 'string' && isApiKey(demo.key)
      ? { accountId: demo.accountId, key: demo.key }
      : null;
  } catch {
    return null;
  }
}

interface ListedKey {
  readonly prefix: string;
  readonly revokedAt: string | null;
}

async function isStored(demo: DemoAccount, admin: AdminClient): Promise<boolean> {
  const keys = await admin.find<{ data: ListedKey[] }>(`/accounts/${demo.accountId}/keys`);
  return (
    keys?.data.some(({ prefix, revokedAt }) => revokedAt === null && demo.key.startsWith(prefix.slice(0, -1))) ?? false
  );
}
