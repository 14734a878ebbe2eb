import { setTimeout as wait } from 'node:timers/promises';
import { type AdminClient, adminClient } from '../../support/admin-client.ts';
import type { Attack } from '../attack.ts';
import { type BilledCall, scriptMark } from './bill.ts';
import { type Account, ADMIN_TOKEN } from './gateway.ts';
import { type AttackRequest, type AttackResponse, HttpClient, type LiveStream } from './http.ts';
import { nanoOf, yuanOf } from './models.ts';
import { monotonicMs } from './monotonic.ts';

/** The environment of an attack: the gateway, the accounts of its callers, and the provider's bills. */
export interface SceneOrder {
  readonly attack: string;
  readonly url: string;
  readonly providerUrl: string;
  readonly accounts: Readonly<Record<string, readonly Account[]>>;
}

/** What one caller paid, and the provider's bill. */
export interface MoneyRow {
  readonly what: string;
  /** Number of requests at the provider, and how many of them it reported usage for. */
  readonly provided: number;
  readonly reported: number;
  readonly chargedNano: string;
  readonly billedNano: string;
  /** The observed hold, if any. */
  readonly heldNano: string | null;
}

export interface AttackReport {
  readonly responses: Readonly<Record<string, number>>;
  readonly money: readonly MoneyRow[];
  readonly notes: readonly string[];
  /** Violations; each makes the run fail. */
  readonly problems: readonly string[];
}

/** Maximum time until calls are settled after the attack. Providers of the scene respond within seconds. */
const SETTLED_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 100;
/** Maximum time until requests reach the provider. */
const PROVIDED_WITHIN_MS = 5_000;
const NOTHING = (): Promise<void> => Promise.resolve();

export class Scene {
  readonly url: string;
  readonly admin: AdminClient;
  readonly http: HttpClient;
  readonly #attack: Attack;
  readonly #order: SceneOrder;
  readonly #money: MoneyRow[] = [];
  readonly #notes: string[] = [];
  readonly #problems: string[] = [];

  constructor(attack: Attack, order: SceneOrder) {
    this.url = order.url;
    this.admin = adminClient(order.url, ADMIN_TOKEN);
    this.http = new HttpClient(order.url);
    this.#attack = attack;
    this.#order = order;
  }

  accounts(caller: string): readonly Account[] {
    return this.#order.accounts[caller]!;
  }

  key(caller: string): string {
    return this.accounts(caller)[0]!.key;
  }

  /** The script of a request, for `user` or a similar member. The provider follows it and bills this caller. */
  mark(script: string, caller: string): string {
    return scriptMark(script, this.#tag(caller));
  }

  send(request: AttackRequest): Promise<AttackResponse> {
    return this.http.send(request);
  }

  open(request: AttackRequest): Promise<LiveStream> {
    return this.http.open(request);
  }

  /** Sends requests with a fixed concurrency until the attack ends, then waits for those in flight. */
  async repeat(atATime: number, work: (round: number) => Promise<unknown>): Promise<void> {
    const endMs = monotonicMs() + this.#attack.seconds * 1_000;
    let round = 0;
    const loops = Array.from({ length: atATime }, async () => {
      while (monotonicMs() < endMs) await work(round++);
    });
    await Promise.all(loops);
  }

  /** Starts a number of requests per second until the attack ends, without waiting for responses. */
  async pace(perSecond: number, work: (round: number) => Promise<unknown>): Promise<void> {
    const beganMs = monotonicMs();
    const count = perSecond * this.#attack.seconds;
    const begun: Promise<unknown>[] = [];
    for (let round = 0; round < count; ) {
      const due = Math.min(count, ((monotonicMs() - beganMs) / 1_000) * perSecond);
      for (; round < due; round++) begun.push(work(round));
      await wait(5);
    }
    await Promise.all(begun);
  }

  /** Waits until the attack ends. */
  async sitStill(): Promise<void> {
    await wait(this.#attack.seconds * 1_000);
  }

  note(text: string): void {
    this.#notes.push(text);
  }

  problem(text: string): void {
    if (!this.#problems.includes(text)) this.#problems.push(text);
  }

  /** Asserts that every response so far has one of these statuses, and that none is missing or incomplete. */
  expectStatuses(...allowed: number[]): void {
    for (const [status, count] of Object.entries(this.http.responses)) {
      if (!allowed.includes(Number(status)))
        this.problem(`${count} responses of ${status}, expected ${allowed.join(', ')}`);
    }
  }

  expectStatus(what: string, { status, text }: AttackResponse, ...allowed: number[]): void {
    if (!allowed.includes(Number(status))) {
      this.problem(`${what}: ${status} ${text.slice(0, 120)}, expected ${allowed.join(' or ')}`);
    }
  }

  /** Sends calls and abandons them once the provider has received those that were not refused. */
  async leaveBeforeResponse(caller: string, request: AttackRequest, calls: number, seen = NOTHING): Promise<void> {
    const before = (await this.bill(caller)).length;
    const begun = Array.from({ length: calls }, () => this.http.begin(request));
    const endMs = monotonicMs() + PROVIDED_WITHIN_MS;
    while (monotonicMs() < endMs) {
      const refused = begun.filter((call) => call.isResponded()).length;
      if ((await this.bill(caller)).length - before + refused >= calls) break;
      await wait(LOOK_EVERY_MS / 5);
    }
    await seen();
    for (const call of begun) call.leave();
  }

  /** The provider's bill for a caller. */
  async bill(caller: string): Promise<BilledCall[]> {
    const response = await fetch(`${this.#order.providerUrl}/bill?tag=${this.#tag(caller)}`);
    return (await response.json()) as BilledCall[];
  }

  async money(caller: string): Promise<{ balanceNano: bigint; heldNano: bigint }> {
    const account = await this.admin<{ balanceYuan: string; heldYuan: string }>(
      'GET',
      `/accounts/${this.accounts(caller)[0]!.id}`,
    );
    return { balanceNano: nanoOf(account.balanceYuan), heldNano: nanoOf(account.heldYuan) };
  }

  /** Waits until the calls of a caller are settled; returns the result. */
  async settle(caller: string, what: string, heldNano: bigint | null = null): Promise<Settled> {
    const endMs = monotonicMs() + SETTLED_WITHIN_MS;
    for (;;) {
      const [money, bill] = await Promise.all([this.money(caller), this.bill(caller)]);
      const isSettled = money.heldNano === 0n && bill.every(({ state }) => state !== 'running');
      if (isSettled || monotonicMs() > endMs) {
        if (!isSettled) this.problem(`${what}: calls are not settled after ${SETTLED_WITHIN_MS / 1_000} s`);
        return this.#record(caller, what, heldNano, money.balanceNano, bill);
      }
      await wait(LOOK_EVERY_MS);
    }
  }

  /** Waits some seconds; returns the highest measured memory for bodies and responses, in MiB. */
  async mostCountedMiB(seconds: number): Promise<number> {
    let mostMiB = 0;
    for (let second = 0; second < seconds; second++) {
      await wait(1_000);
      mostMiB = Math.max(mostMiB, await this.#countedMiB());
    }
    return mostMiB;
  }

  /** Asserts that the memory for bodies and responses is released. */
  async expectNothingCounted(): Promise<void> {
    const endMs = monotonicMs() + SETTLED_WITHIN_MS;
    for (;;) {
      const leftMiB = await this.#countedMiB();
      if (leftMiB <= 1) return;
      if (monotonicMs() > endMs) return this.problem(`${leftMiB} MiB are still counted at the end`);
      await wait(LOOK_EVERY_MS);
    }
  }

  async #countedMiB(): Promise<number> {
    const response = await fetch(`${this.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return Number(/^faregate_body_memory_used_bytes (\d+)$/m.exec(await response.text())![1]) / 2 ** 20;
  }

  /** Asserts that the provider reported all usage, and that it was charged. */
  expectBill(what: string, { chargedNano, billedNano, bill }: Settled): void {
    const unreported = bill.filter(({ state }) => state !== 'reported').length;
    if (bill.length === 0) this.problem(`${what}: the provider got nothing`);
    if (unreported > 0) this.problem(`${what}: ${unreported} of ${bill.length} calls were not awaited for their usage`);
    else if (chargedNano !== billedNano) {
      this.problem(`${what}: charged ${yuanOf(chargedNano)}, the provider bills ${yuanOf(billedNano)}`);
    }
  }

  /** Asserts that the overdraft is at most the cost of one call. */
  expectOverdraftOfOne(what: string, { balanceNano, bill }: Settled): void {
    const dearest = bill.reduce((most, { nano }) => (BigInt(nano) > most ? BigInt(nano) : most), 0n);
    if (balanceNano < -dearest) {
      this.problem(`${what}: the balance is ${yuanOf(balanceNano)}, and the dearest call costs ${yuanOf(dearest)}`);
    }
  }

  report(): AttackReport {
    return {
      responses: this.http.responses,
      money: this.#money,
      notes: this.#notes,
      problems: this.#problems,
    };
  }

  #tag(caller: string): string {
    return `${this.#attack.name}.${caller}`;
  }

  #record(caller: string, what: string, heldNano: bigint | null, balanceNano: bigint, bill: BilledCall[]): Settled {
    const chargedNano = nanoOf(this.#attack.callers[caller]!.balanceYuan) - balanceNano;
    const billedNano = bill.reduce((sum, { nano }) => sum + BigInt(nano), 0n);
    this.#money.push({
      what,
      provided: bill.length,
      reported: bill.filter(({ state }) => state === 'reported').length,
      chargedNano: String(chargedNano),
      billedNano: String(billedNano),
      heldNano: heldNano === null ? null : String(heldNano),
    });
    if (heldNano !== null && chargedNano > heldNano) {
      this.problem(`${what}: charged ${yuanOf(chargedNano)}, more than the ${yuanOf(heldNano)} that were reserved`);
    }
    return { chargedNano, billedNano, balanceNano, bill };
  }
}

export interface Settled {
  readonly chargedNano: bigint;
  readonly billedNano: bigint;
  readonly balanceNano: bigint;
  readonly bill: readonly BilledCall[];
}
