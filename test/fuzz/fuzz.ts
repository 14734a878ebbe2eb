import { Agent, request } from 'node:http';
import { Dice } from '../../src/lib/dice.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { type Child, startChild } from '../attacks/scene/rpc.ts';
import { isCall } from './calls.ts';
import { type FuzzedGateway, type FuzzedStart, SLASHED_MODEL } from './gateway-process.ts';
import { type FuzzRequest, type Operation, operationsOf, refOf, requestOf } from './requests.ts';
import type { Schema } from './values.ts';

/** Limits that no request may exceed. A page of fifty call records with all members is smaller than that. */
const ANSWER_BYTES_MAX = 100 * 1024;
const BUSY_MS_MAX = 200;
const DEADLINE_MS = 20_000;
const PROGRESS_MS = 60_000;

/** Upper bounds in nano-yuan: per token, and per call in addition to its tokens. */
const TOKEN_NANO_MAX = 40_000n;
const CALL_NANO_MAX = 200_000n;
const CALLS_A_PAGE = 100;
/** Operations whose fake responses contain text. */
const WRITING: readonly string[] = ['chat', 'messages'];
/** Additional share of requests to the few addresses of calls. */
const CALLS_SHARE = 0.3;

/** Requests per gateway. After that many of its people are deleted. */
const REQUESTS_A_GATEWAY = 2_000;

/** A caller, named as in the scan over all addresses. Only operators may see the other account. */
interface Role {
  readonly name: string;
  readonly of: 'nobody' | 'account' | 'operators';
}

const ROLES: readonly Role[] = [
  { name: 'no credential', of: 'nobody' },
  { name: 'a key of the account', of: 'account' },
  { name: 'a key of a member', of: 'account' },
  { name: 'an owner', of: 'account' },
  { name: 'a member', of: 'account' },
  { name: 'an auditor’s token', of: 'operators' },
  { name: 'a token for exports', of: 'operators' },
  { name: 'an operator who signed in', of: 'operators' },
  { name: 'the operator of the environment', of: 'operators' },
];

export interface FuzzReport {
  readonly requests: number;
  /** By first digit of the status. */
  readonly statuses: ReadonlyMap<string, number>;
  /** Operations that never succeeded. */
  readonly neverDone: readonly string[];
  readonly largestBytes: number;
  readonly longestBusyMs: number;
  /** Violations, with the request. */
  readonly violations: readonly string[];
}

interface Response {
  readonly status: number;
  readonly requestId: string | null;
  readonly code: string | null;
  readonly sizeBytes: number;
  readonly text: string;
}

/** Members of admin API responses that are read. */
interface Shown {
  readonly isSound: boolean;
  readonly invariants: unknown;
  readonly data: readonly ShownCall[];
  readonly nextCursor: string | null;
}

interface ShownCall {
  readonly requestId: string;
  readonly status: string;
  readonly context: string;
  readonly operation: string;
  readonly chargeYuan: string | null;
  readonly costYuan: string | null;
}

/** Sends requests generated from a seed, up to a number or a time limit. */
export async function fuzz(
  { seed, requestsMax, untilMs }: { seed: number; requestsMax: number; untilMs: number },
  onProgress: (report: FuzzReport) => void = () => undefined,
): Promise<FuzzReport> {
  const run = new FuzzRun(seed);
  while (run.report.requests < requestsMax && Date.now() < untilMs) {
    const left = requestsMax - run.report.requests;
    await run.onOneGateway(Math.min(left, REQUESTS_A_GATEWAY), untilMs, onProgress);
    onProgress(run.report);
  }
  return run.report;
}

class FuzzRun {
  readonly #dice: Dice;
  readonly #statuses = new Map<string, number>();
  readonly #tried = new Set<string>();
  readonly #done = new Set<string>();
  readonly #violations: string[] = [];
  /** By request id: the maximum tokens of a call, and a callback for violations. */
  readonly #tokensMax = new Map<string, { readonly tokens: number; violate(what: string): void }>();
  #requests = 0;
  #largestBytes = 0;
  #longestBusyMs = 0;

  constructor(seed: number) {
    this.#dice = new Dice(seed);
  }

  get report(): FuzzReport {
    return {
      requests: this.#requests,
      statuses: this.#statuses,
      neverDone: [...this.#tried].filter((name) => !this.#done.has(name)).sort(),
      largestBytes: this.#largestBytes,
      longestBusyMs: this.#longestBusyMs,
      violations: this.#violations,
    };
  }

  async onOneGateway(requests: number, untilMs: number, onProgress: (report: FuzzReport) => void): Promise<void> {
    const child = startChild('./gateway-process.ts', import.meta.url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let shownMs = Date.now();
    try {
      const start: FuzzedStart = { seed: this.#dice.upTo(2 ** 30), hurry: this.#dice.one([10_000, 10_000, 50]) };
      const gateway = await child.ask<FuzzedGateway>('start', start);
      const description = JSON.parse((await send(agent, gateway.url, plain('/openapi.json'))).text);
      const operations = operationsOf(description).filter(({ method, path }) => !LEFT_OUT.has(`${method} ${path}`));
      const calls = operations.filter(({ path }) => isCall(path));
      const ids = new RecentIds(this.#dice, gateway.ids);
      const resolve = (ref: string) => refOf(description, ref) as Schema;
      // Skipped operations do not count; otherwise another gateway would be started for the few that are missing.
      for (let sent = 0; sent < requests && Date.now() < untilMs; ) {
        const operation = this.#dice.one(this.#dice.happens(CALLS_SHARE) ? calls : operations);
        if (LAST_CALLS.test(`${operation.method} ${operation.path}`) && !this.#dice.happens(LAST_CALLS_SHARE)) continue;
        sent++;
        const role = roleFor(operation.path, this.#dice);
        const oddness = this.#dice.one([0, 0, 0.05, 0.3]);
        const values = { dice: this.#dice, resolve, known: ids.known, oddness };
        const asked = requestOf(operation, values, gateway.headers[role.name]!);
        const response = await this.#check(child, agent, gateway, operation, role, asked);
        if (response !== null) ids.addFrom(response.text);
        if (Date.now() - shownMs < PROGRESS_MS) continue;
        shownMs = Date.now();
        onProgress(this.report);
      }
      await this.#checkMoney(agent, gateway);
    } finally {
      agent.destroy();
      child.stop();
    }
  }

  async #check(
    child: Child,
    agent: Agent,
    gateway: FuzzedGateway,
    { method, path }: Operation,
    role: Role,
    asked: FuzzRequest,
  ): Promise<Response | null> {
    this.#requests++;
    const violate = (what: string): void => {
      const { headers, body, ...rest } = asked;
      const shown = { ...rest, headers: { ...headers, authorization: undefined, cookie: undefined } };
      this.#violations.push(
        `${what}\n  as ${role.name}: ${JSON.stringify(shown).slice(0, 800)} ${body?.toString().slice(0, 400) ?? ''}`,
      );
    };
    await child.ask('busyMs');
    await child.ask('reportedSum');
    let response: Response;
    try {
      response = await sendPatiently(agent, gateway.url, asked);
    } catch (error) {
      violate(`no response: ${(error as Error).message}`);
      return null;
    }
    const busyMs = await child.ask<number>('busyMs');
    this.#statuses.set(`${response.status}`, (this.#statuses.get(`${response.status}`) ?? 0) + 1);
    const name = `${method} ${path}`;
    this.#tried.add(name);
    if (response.status < 400) this.#done.add(name);
    if (response.requestId !== null) {
      const tokens = (await child.ask<number>('reportedSum')) + (asked.body?.length ?? 0) + response.sizeBytes;
      this.#tokensMax.set(response.requestId, { tokens, violate });
    }
    const isOfProvider = response.status === 502 && response.code === 'upstream_error' && isCall(path);
    // A slow machine is not the gateway's fault.
    const isSlow = response.text.includes('does not respond in time');
    if (response.status >= 500 && !isOfProvider && !isSlow)
      violate(`status ${response.status}: ${response.text.slice(0, 300)}`);
    if (!asked.asksForMuch) {
      this.#largestBytes = Math.max(this.#largestBytes, response.sizeBytes);
      if (response.sizeBytes > ANSWER_BYTES_MAX) violate(`a response of ${response.sizeBytes} bytes`);
    }
    const steadyMs = busyMs <= BUSY_MS_MAX ? busyMs : await this.#leastOf(child, agent, gateway, asked, busyMs);
    this.#longestBusyMs = Math.max(this.#longestBusyMs, steadyMs);
    if (steadyMs > BUSY_MS_MAX) violate(`${steadyMs.toFixed(0)} ms of the main thread`);
    if (role.of !== 'operators') {
      const found = gateway.canaries.find((canary) => response.text.includes(canary));
      if (found !== undefined) violate(`what is another account's: ${found}`);
    }
    return response;
  }

  /**
   * Checks that no call is charged more than the provider can have reported, that failures are free, and that the ledger is consistent.
   */
  async #checkMoney(agent: Agent, { url, headers }: FuzzedGateway): Promise<void> {
    const ask = async (method: string, path: string): Promise<Shown> => {
      const asked = {
        method,
        path,
        headers: headers['the operator of the environment']!,
        body: null,
        asksForMuch: true,
      };
      return JSON.parse((await send(agent, url, asked)).text) as Shown;
    };
    const { isSound, invariants } = await ask('POST', '/admin/v1/audit');
    if (!isSound) this.#violations.push(`the ledger is not consistent: ${JSON.stringify(invariants)}`);
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { data, nextCursor } = await ask('GET', `/admin/v1/calls?limit=${CALLS_A_PAGE}${from}`);
      for (const call of data) this.#checkCharge(call);
      cursor = nextCursor;
    } while (cursor !== null);
    this.#tokensMax.clear();
  }

  #checkCharge(call: ShownCall): void {
    const of = this.#tokensMax.get(call.requestId);
    if (of === undefined) return;
    const charge = parseYuan(call.chargeYuan ?? '0')!;
    const cost = call.costYuan === null ? null : parseYuan(call.costYuan)!;
    const most = BigInt(Math.ceil(of.tokens)) * TOKEN_NANO_MAX + CALL_NANO_MAX;
    const shown = JSON.stringify(call);
    if (charge < 0n || charge > most)
      of.violate(`a charge of ${call.chargeYuan} for at most ${of.tokens} tokens: ${shown}`);
    if (cost !== null && charge > cost) of.violate(`a charge above the cost: ${shown}`);
    const isFree = call.context === 'balance' && WRITING.includes(call.operation) && charge === 0n;
    if (call.status === 'succeeded' && isFree) of.violate(`no charge for a text: ${shown}`);
    if (call.status === 'failed' && charge > 0n) of.violate(`a charge for a failure: ${shown}`);
  }

  /** The machine may have been busy. If the request is expensive, it is so again. */
  async #leastOf(
    child: Child,
    agent: Agent,
    { url }: FuzzedGateway,
    asked: FuzzRequest,
    firstMs: number,
  ): Promise<number> {
    let least = firstMs;
    for (let i = 0; i < 2 && least > BUSY_MS_MAX; i++) {
      await child.ask('busyMs');
      await send(agent, url, asked).catch(() => null);
      least = Math.min(least, await child.ask<number>('busyMs'));
    }
    return least;
  }
}

/** The kind of an id, by the names of members, parameters and path segments. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  acct: ['accountId', 'accounts'],
  key: ['keyId', 'keys'],
  call: ['callId', 'calls'],
  usr: ['userId', 'users', 'members'],
  whk: ['endpointId', 'webhooks'],
  ntc: ['noticeId'],
  tok: ['tokens', 'actorId'],
  vb: ['batchId', 'vouchers'],
  sub: ['subscriptions'],
  lnk: ['invitations'],
  ses: ['sessions'],
  req: ['requestId'],
};
const NAMES: Readonly<Record<string, readonly string[]>> = {
  planId: ['wide'],
  provider: ['chatty', 'messaging'],
  providerId: ['chatty'],
  model: ['test-chat', 'test-messages', 'test-both', 'test-responses', SLASHED_MODEL],
  state: ['resp_1', 'resp_2', 'cmp_1', 'msg_1', 'cntr_1', 'file-abc123', 'vs_1', 'oss://bucket/key'],
  models: ['test-chat'],
  providerModel: ['test-chat'],
  month: ['2026-11'],
  groupBy: ['day', 'day,model', 'key,model,status', 'account'],
  timezone: ['UTC'],
  url: ['https://hooks.example.com/x'],
};
const REMEMBERED_OF_A_KIND = 20;

/** The latest ids of each kind in responses. */
class RecentIds {
  readonly #dice: Dice;
  readonly #ofKind = new Map<string, string[]>();

  constructor(dice: Dice, ids: readonly string[]) {
    this.#dice = dice;
    for (const id of ids) this.#add(id);
  }

  readonly known = (name: string): string | null => {
    const words = Object.hasOwn(NAMES, name) ? NAMES[name]! : null;
    if (words !== null) return this.#dice.one(words);
    const kind = Object.keys(KINDS).find((each) => KINDS[each]!.includes(name));
    const isAny = name === 'id' || name === 'search' || name === 'subjectId';
    const ids = isAny ? [...this.#ofKind.values()].flat() : (this.#ofKind.get(kind ?? '') ?? []);
    return ids.length === 0 ? null : this.#dice.one(ids);
  };

  addFrom(text: string): void {
    for (const [, id] of text.slice(0, 20_000).matchAll(/"([a-z]{2,6}_[0-9a-z]{10,40})"/g)) this.#add(id!);
  }

  #add(id: string): void {
    const kind = id.slice(0, id.indexOf('_'));
    const ids = this.#ofKind.get(kind) ?? [];
    if (ids.includes(id)) return;
    ids.push(id);
    this.#ofKind.set(kind, ids.slice(-REMEMBERED_OF_A_KIND));
  }
}

/** Operations that invalidate credentials of others. They are rare, because little can be tested after them. */
const LAST_CALLS =
  /^(DELETE .*\/(sessions?|keys|tokens|users|members)\b|PUT \/account\/v1\/password|PATCH \/admin\/v1\/(users|accounts)|POST .*\/replacement|POST .*\/drain)/;
const LAST_CALLS_SHARE = 0.05;

/**
 * The first would add someone of the first account to the other one; the second would disable models, which then correctly return 503 to
 * all.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(['POST /admin/v1/accounts/{id}/members', 'POST /admin/v1/routes/drain']);

/** A caller for a path, usually one with permission. */
function roleFor(path: string, dice: Dice): Role {
  if (dice.happens(0.15)) return dice.one(ROLES);
  if (path.startsWith('/admin/')) return dice.one(ROLES.filter(({ of }) => of === 'operators'));
  if (path.startsWith('/account/')) return dice.one(ROLES.filter(({ of }) => of === 'account'));
  return ROLES.find(({ name }) => name === 'a key of the account')!;
}

const plain = (path: string): FuzzRequest => ({ method: 'GET', path, headers: {}, body: null, asksForMuch: true });

/** Repeats a request once if it times out, because the machine may have been busy. */
async function sendPatiently(agent: Agent, url: string, asked: FuzzRequest): Promise<Response> {
  try {
    return await send(agent, url, asked);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
    return send(agent, url, asked);
  }
}

function send(agent: Agent, url: string, { method, path, headers, body }: FuzzRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { 'content-length': String(body.length) };
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const asked = request(url + path, { agent, method, headers: { ...headers, ...length }, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const { 'request-id': requestId = null, 'x-error-code': code = null } = response.headers as Record<
          string,
          string
        >;
        resolve({
          status: response.statusCode ?? 0,
          requestId,
          code,
          sizeBytes: bytes.length,
          text: bytes.toString(),
        });
      });
    });
    asked.on('error', reject);
    asked.end(body ?? undefined);
  });
}
