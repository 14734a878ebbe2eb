import assert from 'node:assert/strict';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { ask, type PersonResponse } from '../support/people.ts';

/** Shared by the tests of vouchers. */

const terms = (name: string) =>
  `{ name: ${name}, fiveHourCalls: 3, weeklyCalls: 50, concurrency: 3, quotaTokens: 100000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }`;
const PLANS = `
plans:
  coder: ${terms('Coder')}
  other: ${terms('Other')}
`;

export interface Batch {
  readonly id: string;
  readonly codes: readonly string[];
}

export class VoucherScene {
  readonly clock = createTestClock('2026-11-20T12:00:00Z');
  monotonicMs = 0;
  g!: TestGateway;

  async start(): Promise<void> {
    this.g = await startGateway({ clock: this.clock, plans: PLANS, monotonicMs: () => this.monotonicMs });
  }

  /** A further node on the same database. */
  startNode(): Promise<TestGateway> {
    const { stored } = this.g;
    return startGateway({ stored, database: stored.openAnother(), clock: this.clock, plans: PLANS });
  }

  /** Of ¥5.5 each, unless a plan is given. */
  async create(given: object, headers: Record<string, string> = {}): Promise<Batch> {
    const body = { name: 'spring', count: 1, ...('planId' in given ? {} : { amountYuan: '5.5' }), ...given };
    const made = await this.g.admin('POST', '/vouchers', body, headers);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body;
  }

  /** The header of an account key for the account API, with the rights of an owner. */
  async keyOf(account: TestAccount): Promise<Record<string, string>> {
    const { body } = await this.g.admin('POST', `/accounts/${account.id}/keys`, { scopes: ['account'] });
    return { authorization: `Bearer ${body.key}` };
  }

  redeem(code: string, headers: Record<string, string>, node = this.g): Promise<PersonResponse> {
    return ask(node, 'POST', '/vouchers', { code }, headers);
  }

  async entriesOf({ id }: TestAccount) {
    const { body } = await this.g.admin('GET', `/accounts/${id}/ledger`);
    return body.data.filter((entry: { memo: string | null }) => entry.memo?.startsWith('voucher '));
  }
}

export async function balanceOf(account: TestAccount): Promise<bigint> {
  return (await account.money()).balanceNano;
}
