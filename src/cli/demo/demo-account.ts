import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import type { History } from '../../accounting/history/history-store.ts';
import type { KeyResponse } from '../../api/keys/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { Page } from '../../api/management/response-fields.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { replaceFile } from '../../lib/files/durable-files.ts';
import { createIds } from '../../lib/ids.ts';
import { Passwords } from '../../people/passwords.ts';
import type { UserStore } from '../../people/user-store.ts';
import { makeBareDemo, makeMonth, monthStartMs } from './month/month.ts';
import { createNewDemo, createPassword, type NewDemo } from './new-demo.ts';

/** Who asks for a password hash. Nobody else waits for one, because the gateway does not serve yet. */
const NOBODY_WAITS = { network: '', isKnown: true };

export interface DemoAccount {
  readonly accountId: string;
  readonly key: string;
  /** Name of the operator, who also owns the account. */
  readonly userName: string;
  /** The operator's password; `null` if it was changed. */
  readonly password: string | null;
}

interface DemoDependencies {
  readonly dataDir: string;
  readonly users: Pick<UserStore, 'findCredential' | 'insert' | 'changePassword'>;
  /** Writes a history atomically into a database without accounts; returns false if it has accounts. */
  readonly writeHistory: (history: History) => Promise<boolean>;
  readonly admin: AdminClient;
  readonly config: Config;
  readonly hasMonth: boolean;
  readonly clock: Clock;
}

/**
 * File next to the database with the secrets of the demo, so that they can be printed after a restart. Only its owner can read it. The demo
 * alone stores the text of a key.
 */
const FILE = 'demo.json';
const PLAN_ID = 'demo-coding';

/**
 * Returns the account of an earlier start if the database still has it, otherwise a new one. A new demo is written in one transaction,
 * after its secrets: if the process is killed, the next start finds all of it, or starts over with the same secrets. If the subscription
 * has ended, the plan is granted again.
 */
export async function ensureDemoAccount(dependencies: DemoDependencies): Promise<DemoAccount> {
  const { dataDir, admin } = dependencies;
  const stored = readStoredDemo(dataDir);
  const demo = (await createFirst(stored, dependencies)) ?? (await repairDemo(stored, dependencies));
  await ensurePlan(demo.accountId, admin);
  return demo;
}

/** Creates the demo; `null` if the database has accounts. */
async function createFirst(stored: NewDemo | null, dependencies: DemoDependencies): Promise<DemoAccount | null> {
  const { dataDir, admin, config, hasMonth, clock } = dependencies;
  const { data: accounts } = await admin.request<{ data: unknown[] }>('GET', '/accounts?limit=1');
  if (accounts.length > 0) return null;
  const nowMs = clock.nowMs();
  const demo = stored ?? createNewDemo(clock, hasMonth ? monthStartMs(nowMs) : nowMs);
  await store(dataDir, demo);
  const passwordHash = await new Passwords().hash(demo.password, NOBODY_WAITS);
  const history = (hasMonth ? makeMonth : makeBareDemo)({ config, demo, passwordHash, planId: PLAN_ID, nowMs });
  if (!(await dependencies.writeHistory(history))) return null;
  return { accountId: demo.accountId, key: demo.key, userName: demo.name, password: demo.password };
}

/** Restores an existing demo whose file was lost or is from another machine. */
async function repairDemo(stored: NewDemo | null, dependencies: DemoDependencies): Promise<DemoAccount> {
  const { dataDir, users, admin, clock } = dependencies;
  const name = stored?.name ?? 'demo';
  const isKeyKnown = stored !== null && (await isKeyStored(stored, admin));
  const account = isKeyKnown ? { id: stored.accountId } : await accountNamed(name, admin);
  const key = isKeyKnown ? { keyId: stored.keyId, key: stored.key } : await newKey(account.id, name, admin);

  const passwords = new Passwords();
  const user = await users.findCredential(name);
  const isUserKnown = user !== null && user.userId === stored?.userId;
  if (isKeyKnown && isUserKnown) {
    const isUnchanged = await passwords.verify(stored.password, user.passwordHash, NOBODY_WAITS);
    return { accountId: account.id, key: key.key, userName: name, password: isUnchanged ? stored.password : null };
  }
  const password = createPassword();
  const userId = user?.userId ?? createIds(clock).next('usr');
  await store(dataDir, { name, accountId: account.id, ...key, userId, password });
  const passwordHash = await passwords.hash(password, NOBODY_WAITS);
  if (user === null) {
    await users.insert({
      id: userId,
      email: null,
      name,
      passwordHash,
      operatorRole: 'operator',
      memberships: [{ accountId: account.id, role: 'owner' }],
      at: new Date(clock.nowMs()),
    });
    return { accountId: account.id, key: key.key, userName: name, password };
  }
  const isChanged = await users.changePassword(userId, passwordHash, user.passwordHash ?? '', '');
  return { accountId: account.id, key: key.key, userName: name, password: isChanged ? password : null };
}

async function accountNamed(name: string, admin: AdminClient): Promise<{ readonly id: string }> {
  const { data } = await admin.request<{ data: { id: string }[] }>('GET', `/accounts?name=${name}`);
  const [found] = data;
  if (found !== undefined) return found;
  return admin.request('POST', '/accounts', { name, verified: true, balanceYuan: '100' });
}

async function newKey(accountId: string, name: string, admin: AdminClient): Promise<{ keyId: string; key: string }> {
  const made = await admin.request<{ id: string; key: string }>('POST', `/accounts/${accountId}/keys`, { name });
  return { keyId: made.id, key: made.key };
}

async function ensurePlan(accountId: string, admin: AdminClient): Promise<void> {
  const path = `/accounts/${accountId}/subscriptions`;
  const { data } = await admin.request<{ data: { status: string }[] }>('GET', path);
  if (!data.some(({ status }) => status === 'active')) await admin.request('POST', path, { planId: PLAN_ID });
}

/** Returns the id of the account in `demo.json`; `null` if the file is absent or invalid. */
export function readDemoAccountId(dataDir: string): string | null {
  const { accountId } = readDemoFile(dataDir);
  return typeof accountId === 'string' ? accountId : null;
}

function readStoredDemo(dataDir: string): NewDemo | null {
  const demo = readDemoFile(dataDir);
  return isComplete(demo) && isApiKey(demo.key) ? demo : null;
}

function readDemoFile(dataDir: string): Partial<NewDemo> {
  try {
    return (JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Partial<NewDemo> | null) ?? {};
  } catch {
    return {};
  }
}

function isComplete(demo: Partial<NewDemo>): demo is NewDemo {
  const { name, accountId, keyId, key, userId, password } = demo;
  return [name, accountId, keyId, key, userId, password].every((text) => typeof text === 'string' && text !== '');
}

async function store(dataDir: string, demo: NewDemo): Promise<void> {
  await replaceFile(join(dataDir, FILE), JSON.stringify(demo), 0o600);
}

async function isKeyStored(demo: NewDemo, admin: AdminClient): Promise<boolean> {
  const keys = await admin.find<Page<KeyResponse>>(`/accounts/${demo.accountId}/keys`);
  return (
    keys?.data.some(({ prefix, revokedAt }) => revokedAt === null && demo.key.startsWith(prefix.slice(0, -1))) ?? false
  );
}
