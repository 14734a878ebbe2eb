import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { formatYuan } from '../../src/lib/yuan.ts';
import { relayedStream } from '../hostile/scene.ts';
import { CALL_TOKENS, CODING_CHAT, plansText } from '../plans/coding.ts';
import type { AdminClient } from '../support/admin-client.ts';
import { type ClientResponse, call, type StartedCall, startCall } from '../support/client.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import type { ReceivedRequest, ScriptedProvider } from '../support/provider.ts';
import { rarerAndRarer } from '../support/until.ts';

/** Calls of every kind that reserves something, and a provider that responds when a test says so. */

const [chat, messages] = families as readonly [Family, Family];

export interface Kind {
  readonly name: string;
  readonly family: Family;
  readonly path: string;
  readonly isStream: boolean;
  readonly isCoding?: boolean;
  /** The call's key has a limit of one call a day. */
  readonly isLimited?: boolean;
  readonly idempotencyKey?: string;
}

export const kinds: readonly Kind[] = [
  { name: 'chat, whole', family: chat, path: chat.path, isStream: false },
  { name: 'chat, stream', family: chat, path: chat.path, isStream: true },
  { name: 'messages, whole', family: messages, path: messages.path, isStream: false },
  { name: 'messages, stream', family: messages, path: messages.path, isStream: true },
  { name: 'coding plan, whole', family: chat, path: CODING_CHAT, isStream: false, isCoding: true },
  { name: 'coding plan, stream', family: chat, path: CODING_CHAT, isStream: true, isCoding: true },
  { name: 'limited key', family: chat, path: chat.path, isStream: false, isLimited: true },
  { name: 'idempotency key', family: messages, path: messages.path, isStream: false, idempotencyKey: 'once' },
];

/** The plan of the callers on a Coding Plan. */
export const PLANS = plansText({ coder: { concurrency: 1 } });

export const MODEL = 'test-both';

export type Admin = AdminClient;

/** An account for one call alone, with ¥100. */
export interface Caller {
  readonly kind: Kind;
  readonly id: string;
  readonly keyId: string;
  readonly key: string;
}

export async function createCaller(admin: Admin, kind: Kind): Promise<Caller> {
  const { id } = await admin('POST', '/accounts', { name: kind.name, verified: true });
  await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '100' });
  if (kind.isCoding) await admin('POST', `/accounts/${id}/subscriptions`, { planId: 'coder' });
  const limits = kind.isLimited ? { concurrency: 1, dailyCalls: 1 } : {};
  const key = await admin('POST', `/accounts/${id}/keys`, { name: kind.name, ...limits });
  return { kind, id, keyId: key.id, key: key.key };
}

export function createCallers(admin: Admin, of: readonly Kind[] = kinds): Promise<Caller[]> {
  return Promise.all(of.map((kind) => createCaller(admin, kind)));
}

/** Begins the caller's call; the provider responds when `gate` is opened. */
export function begin(url: string, { kind, key }: Caller, gate: string): StartedCall {
  const headers = kind.idempotencyKey === undefined ? {} : { 'idempotency-key': kind.idempotencyKey };
  return startCall(url + kind.path, key, { ...requestOf(kind.isStream, MODEL), gate }, { headers });
}

/** A call that has reached the provider; of a stream the client already has a part. */
export interface CallInFlight {
  readonly caller: Caller;
  readonly response: Promise<ClientResponse>;
  /** The headers of a stream's response. */
  readonly begun: ClientResponse | null;
}

/** Begins a call of each caller, and waits until all of them are in flight. */
export async function beginAll(
  url: string,
  provider: ScriptedProvider,
  callers: readonly Caller[],
  gate: string,
): Promise<CallInFlight[]> {
  const { length } = provider.requests;
  const begun = callers.map((caller) => ({ caller, response: begin(url, caller, gate).response }));
  await provider.received(length + callers.length);
  return Promise.all(
    begun.map(async ({ caller, response }) => {
      if (!caller.kind.isStream) return { caller, response, begun: null };
      await (await response).until('Hello');
      return { caller, response, begun: await response };
    }),
  );
}

/** What a provider does not send before its gate is opened. */
export class Gates {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  open(name: string): void {
    this.#gate(name).resolve();
  }

  /** Responds to a call; the end of the response follows once the gate that the call names is open. */
  readonly respond = async (request: ReceivedRequest, response: ServerResponse): Promise<void> => {
    const family = request.path.endsWith('/messages') ? messages : chat;
    const { stream, gate } = JSON.parse(request.body.toString()) as { stream: boolean; gate: string };
    const opened = this.#gate(gate).promise;
    if (!stream) {
      await opened;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(family.whole()));
      return;
    }
    const events = family.stream(['Hello']);
    const first = family === chat ? 2 : 4;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events.slice(0, first).join(''));
    await opened;
    response.end(events.slice(first).join(''));
  };

  #gate(name: string): PromiseWithResolvers<void> {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = Promise.withResolvers();
      this.#gates.set(name, gate);
    }
    return gate;
  }
}

/** Asserts that the client has the complete response, byte for byte. */
export async function assertDelivered({ caller: { kind }, response }: CallInFlight): Promise<void> {
  const got = await response;
  assert.equal(await got.ended(), true);
  assert.deepEqual([got.status, got.text], [200, successOf(kind)]);
}

/** A successful response of a kind as its client receives it. */
export function successOf({ family, isStream }: Kind): string {
  return isStream ? relayedStream(family, ['Hello']) : JSON.stringify(family.whole());
}

/** A stream of a kind as its client receives it, without its terminal event. */
export function unfinishedOf({ family }: Kind): string {
  return relayedStream(family, ['Hello']).slice(0, -family.terminal.length);
}

/** The records of a caller's calls, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
export async function recordsOf(admin: Admin, { id }: Caller): Promise<any[]> {
  return (await admin('GET', `/calls?accountId=${id}`)).data;
}

/** Resolves with the record of a caller's newest call once that has this status. Polls. */
export async function recorded(admin: Admin, caller: Caller, status: string) {
  for (const pause = rarerAndRarer(); ; await pause()) {
    const [record] = await recordsOf(admin, caller);
    if (record?.status === status) return record;
  }
}

/**
 * Asserts that one of the caller's calls succeeded and was charged or counted once, and that nothing else was. A call that had been
 * considered dead uses no slot: the slot was released, and stays so (`src/accounting/settlement/README.md`).
 */
export async function assertCharged(
  admin: Admin,
  url: string,
  caller: Caller,
  { takesSlot = true }: { takesSlot?: boolean } = {},
): Promise<void> {
  const { kind, id } = caller;
  const records = await recordsOf(admin, caller);
  const succeeded = records.filter(({ status }) => status === 'succeeded');
  assert.equal(succeeded.length, 1);
  const charge = kind.isCoding ? null : formatYuan(kind.family.cost);
  for (const record of succeeded) {
    assert.deepEqual(
      [record.chargeYuan, record.heldYuan, record.httpStatus, record.errorCode, record.usage.source],
      [charge, null, 200, null, 'observed'],
    );
  }
  const charged = kind.isCoding ? [] : succeeded.map((record) => record.id);
  await assertLedger(admin, id, charged, kind.family.cost);
  const use = takesSlot ? { calls: 1, tokens: CALL_TOKENS } : NO_USE;
  if (kind.isCoding) await assertPlanUse(url, caller, use);
}

const NO_USE = { calls: 0, tokens: 0 };

/** Asserts that nothing was charged or counted, and that nothing is reserved any more. */
export async function assertFree(admin: Admin, url: string, caller: Caller): Promise<void> {
  await assertLedger(admin, caller.id, [], 0n);
  if (caller.kind.isCoding) await assertPlanUse(url, caller, NO_USE);
}

/** Asserts that exactly these calls of an account were charged, and that nothing is reserved. */
export async function assertLedger(
  admin: Admin,
  id: string,
  callIds: readonly string[],
  costNano: bigint,
): Promise<void> {
  const { data } = await admin('GET', `/accounts/${id}/ledger`);
  const charges = data.filter(({ kind }: { kind: string }) => kind === 'charge');
  assert.deepEqual(charges.map(({ callId }: { callId: string }) => callId).sort(), [...callIds].sort());
  const { balanceYuan, heldYuan } = await admin('GET', `/accounts/${id}`);
  const balanceNano = 100_000_000_000n - BigInt(callIds.length) * costNano;
  assert.deepEqual([balanceYuan, heldYuan], [formatYuan(balanceNano), '0']);
}

async function assertPlanUse(url: string, { key }: Caller, use: { calls: number; tokens: number }): Promise<void> {
  const response = await fetch(`${url}/v1/coding/user/balance`, { headers: { authorization: `Bearer ${key}` } });
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const { fiveHour, weekly, concurrency, pkg } = (await response.json()) as any;
  assert.deepEqual(
    { fiveHour: fiveHour.used, weekly: weekly.used, inFlight: concurrency.inFlight, tokens: pkg.usedTokens },
    { fiveHour: use.calls, weekly: use.calls, inFlight: 0, tokens: use.tokens },
  );
}

/** Asserts that the daily call limit of the caller's key is used up. */
export async function assertKeyUsedUp(url: string, caller: Caller): Promise<void> {
  const response = await begin(url, caller, 'never').response;
  await response.ended();
  assert.deepEqual(
    [response.status, response.headers['x-error-code']],
    [429, 'key_daily_calls_limit_exceeded'],
    response.text,
  );
}

/** Asserts that the caller can make a call as if it had made none before, and is charged for that one alone. */
export async function assertServedAnew(admin: Admin, url: string, caller: Caller, gates: Gates): Promise<void> {
  const { kind, key } = caller;
  gates.open('anew');
  const headers = kind.idempotencyKey === undefined ? {} : { 'idempotency-key': kind.idempotencyKey };
  const response = await call(url + kind.path, key, { ...requestOf(kind.isStream, MODEL), gate: 'anew' }, { headers });
  assert.deepEqual([response.status, response.text], [200, successOf(kind)]);
  await assertCharged(admin, url, caller);
}

/** The non-empty lines of all journals in a data directory. */
export async function journalEntries(dataDir: string): Promise<string[]> {
  const entries: string[] = [];
  for await (const file of glob(join(dataDir, 'journal', '*', '*.journal'))) {
    entries.push(...(await readFile(file, 'utf8')).split('\n').filter((line) => line !== ''));
  }
  return entries;
}

export async function assertSound(admin: Admin): Promise<void> {
  const { isSound, invariants } = await admin('POST', '/audit');
  assert.equal(isSound, true, JSON.stringify(invariants, null, 1));
}
