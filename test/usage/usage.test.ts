import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccountPartitionStore } from '../../src/accounting/partitions/account-partition-store.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import type { UsageFilter } from '../../src/accounting/usage/group-sums-store.ts';
import { readUsage, USAGE_START, usagePages } from '../../src/accounting/usage/usage.ts';
import { createUsageStore, type UsageStore } from '../../src/accounting/usage/usage-store.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Usage and statements of account, over the admin API. */

const MODELS = `
  costed-chat:
    operations: [chat]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: upstream-costed, cost: { input: "2", cachedInput: "0.5", output: "7" } }]
`;
const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 10, weeklyCalls: 50, concurrency: 3, quotaTokens: 1000000, periodDays: 30, priceYuan: "300.00000001", models: [costed-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
/** 07:00 on the last day of October in Shanghai. */
const OCTOBER_MS = Date.UTC(2026, 9, 30, 23, 0, 0);
const HOUR_MS = 3_600_000;
const NO_FILTER: UsageFilter = {
  accountId: null,
  keyId: null,
  model: null,
  provider: null,
  status: null,
  context: null,
  from: null,
  to: null,
};

describe(`usage over the admin API`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  let alice: TestAccount;
  let bob: TestAccount;
  let nowMs = OCTOBER_MS;

  async function chat(account: TestAccount, model: string, path = '/v1/chat/completions'): Promise<void> {
    const response = await call(`${g.url}${path}`, account.key, { model, messages: [] });
    assert.equal(response.status, 200);
  }
  const get = async (path: string) => (await g.admin('GET', path)).body;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const usage = async (query: string): Promise<any[]> => (await get(`/usage?${query}`)).data;
  const csv = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' };
    const response = await fetch(`${g.url}/admin/v1${path}`, { headers });
    assert.match(response.headers.get('content-type')!, /^text\/csv; charset=utf-8/);
    return response.text();
  };
  function usageStore(): UsageStore {
    const partitions = g.partitions.map(({ database }) => database);
    const accounts = createAccountPartitionStore(partitions[0]!);
    const find = async (id: string): Promise<number> => (await accounts.find([id]))[0]?.partition ?? 0;
    return createUsageStore({ directory: partitions[0]!, partitions: createRoutes(partitions, { find }) });
  }
  /** Waits until every call is in the sums. */
  const settled = (): Promise<void> =>
    until(async () => {
      const rows = await sql<{ n: bigint }>(g.database, 'select count(*) as n from usage_queue');
      return rows[0]!.n === 0n;
    });

  before(async () => {
    g = await startGateway({
      // It makes accounts and sums by statements of its own; `partitions.test.ts` has several.
      partitions: 1,
      models: MODELS,
      plans: PLANS,
      usageIntervalMs: 5,
      clock: { nowMs: () => nowMs },
    });
    alice = await g.createAccount();
    bob = await g.createAccount();
    await g.admin('PATCH', `/accounts/${bob.id}`, { name: '=cmd|bob, "the builder"' });
    await g.admin('POST', `/accounts/${bob.id}/subscriptions`, { planId: 'coder' });
    await chat(alice, 'costed-chat');
    await chat(alice, 'test-chat');
    await chat(bob, 'costed-chat');
    await chat(bob, 'costed-chat', '/v1/coding/chat/completions');
    // 01:00 on the first day of November in Shanghai, still October in UTC.
    nowMs = OCTOBER_MS + 18 * HOUR_MS;
    await chat(alice, 'costed-chat');
    await g.admin('POST', `/accounts/${alice.id}/top-ups`, { amountYuan: '20', memo: '+1 gift' });
    await settled();
  });
  after(() => g.stop());

  it('sums charges, cost and margin, which is known if every call has a cost', async () => {
    const { data, completeUntil, timezone, nextCursor } = await get('/usage?groupBy=model,context');
    assert.equal(timezone, 'Asia/Shanghai');
    assert.equal(nextCursor, null);
    assert.ok(Date.parse(completeUntil) > 0);
    const record = await alice.lastCall();
    const { inputTokens, cachedInputTokens, outputTokens } = record.usage;
    const costNano = BigInt(2_000 * inputTokens + 500 * cachedInputTokens + 7_000 * outputTokens);
    assert.equal(parseYuan(record.costYuan), costNano);
    const chargeNano = parseYuan(record.chargeYuan)!;
    const [balance, coding, plain] = data;
    assert.deepEqual([balance.model, balance.context, balance.calls], ['costed-chat', 'balance', 3]);
    assert.equal(parseYuan(balance.chargeYuan), 3n * chargeNano);
    assert.equal(parseYuan(balance.costYuan), 3n * costNano);
    assert.equal(parseYuan(balance.marginYuan), 3n * (chargeNano - costNano));
    assert.equal(balance.usage.outputTokens, 3 * outputTokens);
    // A call on a plan has a cost and no charge.
    assert.deepEqual(
      [coding.model, coding.context, coding.calls, coding.chargeYuan],
      ['costed-chat', 'coding', 1, '0'],
    );
    assert.equal(parseYuan(coding.planCostYuan), costNano);
    // Plan revenue has no model.
    assert.deepEqual([coding.planRevenueYuan, coding.planMarginYuan, coding.marginYuan], [null, null, null]);
    assert.equal(coding.balanceMarginYuan, '0');
    assert.equal(balance.balanceMarginYuan, balance.marginYuan);
    assert.deepEqual(
      [plain.model, plain.costYuan, plain.marginYuan, plain.callsWithoutCost],
      ['test-chat', '0', null, 1],
    );
  });

  it('spreads the price of a plan over the days of its period, and separates its margin from that of the balance', async () => {
    // 30 days from the last day of October; future days have no revenue yet.
    const days = await usage('groupBy=day');
    const ofDay = '10.000000001';
    assert.deepEqual(
      days.map(({ day, planRevenueYuan }) => [day, planRevenueYuan]),
      [
        ['2026-10-31', ofDay],
        ['2026-11-01', ofDay],
      ],
    );
    const [all] = await usage('');
    assert.equal(all.planRevenueYuan, '20.000000002');
    assert.equal(parseYuan(all.planMarginYuan), parseYuan(all.planRevenueYuan)! - parseYuan(all.planCostYuan)!);
    // A call on the balance has no cost.
    assert.deepEqual([all.balanceMarginYuan, all.marginYuan], [null, null]);
    const [ofBob] = await usage(`accountId=${bob.id}&from=2026-10-31&to=2026-11-01`);
    assert.equal(ofBob.planRevenueYuan, ofDay);
    assert.equal(parseYuan(ofBob.marginYuan), parseYuan(ofBob.balanceMarginYuan)! + parseYuan(ofBob.planMarginYuan)!);
    // A day without calls has revenue, too.
    const [sunday] = await usage(`groupBy=account,context&accountId=${bob.id}&from=2026-11-01`);
    assert.deepEqual([sunday.context, sunday.calls, sunday.planMarginYuan], ['coding', 0, ofDay]);
  });

  it('reports latency and errors of routes by the hour, also as CSV', async () => {
    const from = new Date(OCTOBER_MS).toISOString();
    const { data, timezone, isCut } = await get(`/latency?groupBy=hour,model,providerModel&from=${from}`);
    assert.deepEqual([timezone, isCut], ['Asia/Shanghai', false]);
    assert.deepEqual(
      data.map(({ hour, model, providerModel, attempts, errors }: Record<string, unknown>) => [
        hour,
        model,
        providerModel,
        attempts,
        errors,
      ]),
      [
        ['2026-10-30T23:00:00Z', 'costed-chat', 'upstream-costed', 3, 0],
        ['2026-10-30T23:00:00Z', 'test-chat', 'upstream-chat', 1, 0],
        ['2026-10-31T17:00:00Z', 'costed-chat', 'upstream-costed', 1, 0],
      ],
    );
    assert.ok(data.every(({ durationMs }: { durationMs: { p95: number } }) => durationMs.p95 >= 0));
    const byDay = await get(`/latency?groupBy=day&model=costed-chat&from=${from}`);
    assert.deepEqual(
      byDay.data.map(({ day, attempts }: Record<string, unknown>) => [day, attempts]),
      [
        ['2026-10-31', 3],
        ['2026-11-01', 1],
      ],
    );
    const [titles, line] = (await csv(`/latency?groupBy=provider&from=${from}`)).split('\r\n');
    assert.equal(titles!.split(',')[0], 'provider');
    assert.match(line!, /^chatty,5,0,0,0,/);
    assert.equal((await g.admin('GET', '/latency?groupBy=colour')).status, 400);
  });

  it('never shows a client the cost of the operator', async () => {
    const response = await call(`${g.url}/v1/chat/completions`, bob.key, { model: 'costed-chat', messages: [] });
    assert.doesNotMatch(JSON.stringify(response.headers), /cost/i);
    await settled();
  });

  it('groups by day and month of the billing time zone, and filters by day, account, key and model', async () => {
    const ofChat = `model=costed-chat&context=balance&accountId=${alice.id}`;
    const byDay = await usage(`groupBy=day&${ofChat}`);
    assert.deepEqual(
      byDay.map(({ day, calls }) => [day, calls]),
      [
        ['2026-10-31', 1],
        ['2026-11-01', 1],
      ],
    );
    const byMonth = await usage(`groupBy=month,model&${ofChat}`);
    assert.deepEqual(
      byMonth.map(({ month, model, calls }) => [month, model, calls]),
      [
        ['2026-10', 'costed-chat', 1],
        ['2026-11', 'costed-chat', 1],
      ],
    );
    const october = await usage(`groupBy=day&${ofChat}&from=2026-10-01&to=2026-11-01`);
    assert.deepEqual(
      october.map(({ day }) => day),
      ['2026-10-31'],
    );
    const keys = await get(`/accounts/${alice.id}/keys`);
    const ofKey = await usage(`groupBy=key&keyId=${alice.keyId}&to=2026-11-01`);
    assert.deepEqual(
      ofKey.map(({ accountId, keyId, keyName, keyPrefix, calls }) => [accountId, keyId, keyName, keyPrefix, calls]),
      [[alice.id, alice.keyId, 'test', keys.data[0].prefix, 2]],
    );
    assert.deepEqual(await usage('groupBy=model&keyId=key_nobody'), []);
    const [all] = await usage('');
    assert.equal(
      all.calls,
      (await usage('groupBy=account')).reduce((sum, { calls }) => sum + calls, 0),
    );
  });

  it('pages through groups, each once, and refuses a cursor of another list', async () => {
    const groupBy = 'groupBy=account,day,model,context';
    const whole = await usage(groupBy);
    assert.ok(whole.length >= 5);
    const paged: unknown[] = [];
    let cursor: string | null = '';
    let lastCursor = '';
    while (cursor !== null) {
      const page: { data: unknown[]; nextCursor: string | null } = await get(
        `/usage?${groupBy}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      paged.push(...page.data);
      cursor = page.nextCursor;
      lastCursor = cursor ?? lastCursor;
    }
    assert.deepEqual(paged, whole);
    const unstorable = Buffer.from(JSON.stringify([null, ['\0']])).toString('base64url');
    for (const query of [
      `groupBy=day&cursor=${lastCursor}`,
      'cursor=x',
      'groupBy=colour',
      'from=yesterday',
      'to=0000-01-01',
      `groupBy=day&cursor=${unstorable}`,
    ]) {
      assert.equal((await g.admin('GET', `/usage?${query}`)).status, 400, query);
    }
  });

  it('reads accounts in windows, even if many have no usage', async () => {
    await g.database.script(
      `insert into accounts (id, name, verified, status, created_at, updated_at)
select 'acct_' || lpad(n::text, 26, '0'), 'idle', false, 'active', now(), now() from generate_series(1, 1200) n`,
    );
    const store = usageStore();
    const query = { groupBy: ['account'] as const, filter: NO_FILTER, timezone: 'Asia/Shanghai' };
    const { rows, next } = await readUsage(store, query, USAGE_START, 50);
    assert.equal(next, null);
    assert.deepEqual(rows.map(({ group }) => group[0]).sort(), [alice.id, bob.id].sort());
    await g.database.script(`delete from accounts where name = 'idle'`);
  });

  it('of many days is read in spans of days, each of which is summed once', async () => {
    await g.database.script(
      `insert into usage_rollups
select 'acct_many', date '2026-01-01' + n % 90, 'key_' || n / 90, 'm', 'p', 'succeeded', 'balance', 1, ${'0, '.repeat(21)}0
from generate_series(0, 90 * 7 - 1) n`,
    );
    const spans = new Set<string>();
    const real = usageStore();
    const store: UsageStore = {
      ...real,
      sum(query, ...others) {
        spans.add(`${query.filter.from} ${query.filter.to}`);
        return real.sum(query, ...others);
      },
    };
    for (const groupBy of [
      ['key', 'day'],
      ['key', 'month'],
    ] as const) {
      spans.clear();
      const filter = { ...NO_FILTER, accountId: 'acct_many' };
      const query = { groupBy, filter, timezone: 'Asia/Shanghai' };
      const found: string[] = [];
      for await (const rows of usagePages(store, query, 40)) {
        found.push(...rows.map(({ group, calls }) => `${group.join(' ')} ${calls}`));
      }
      const { rows } = await readUsage(real, query, USAGE_START, 1_000);
      assert.deepEqual(found.toSorted(), rows.map(({ group, calls }) => `${group.join(' ')} ${calls}`).toSorted());
      assert.equal(found.length, groupBy[1] === 'day' ? 630 : 21);
      const ends = [...spans].map((span) => span.split(' '));
      assert.ok(ends.length >= 2);
      assert.deepEqual([ends[0]![0], ends.at(-1)![1]], ['null', 'null']);
      for (let i = 1; i < ends.length; i++) assert.equal(ends[i]![0], ends[i - 1]![1]);
    }
    await g.database.script(`delete from usage_rollups where account_id = 'acct_many'`);
  });

  it('is CSV in which spreadsheets find no formulas', async () => {
    const lines = (await csv('/usage?groupBy=account&limit=1')).split('\r\n');
    assert.equal(lines.length, 4);
    assert.match(
      lines[0]!,
      /^accountId,accountName,calls,chargeYuan,refundYuan,netChargeYuan,planRevenueYuan,costYuan,planCostYuan,marginYuan,/,
    );
    assert.ok(lines.some((line) => line.startsWith(`${bob.id},"'=cmd|bob, ""the builder""",`)));
  });

  it('shows refunds, unresolved calls and their reserved amounts', async () => {
    const record = await alice.lastCall();
    const refund = await g.admin('POST', `/calls/${record.id}/refunds`, { memo: 'sorry' }, { 'idempotency-key': 'r1' });
    assert.equal(refund.status, 201, JSON.stringify(refund.body));
    await g.database.script(
      `insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model,
  is_stream, status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
  reasoning_tokens, price_rule, reserved_nano)
values ('${alice.id}', 'call_lost', '2026-11-02T00:00:00Z', '2026-11-02T00:00:00Z', '${alice.keyId}', 'balance', 'chat', 'lost-model',
  'chatty', 'x', false, 'unresolved', 'r', 0, 0, 0, 0, 0, 0, 'base', 5000)`,
    );
    await settled();
    const [refunded] = await usage(`groupBy=model&model=${record.model}`);
    assert.equal(refunded.refundYuan, record.chargeYuan);
    assert.equal(parseYuan(refunded.netChargeYuan), parseYuan(refunded.chargeYuan)! - parseYuan(refunded.refundYuan)!);
    for (const query of ['', `&accountId=${alice.id}`]) {
      const [lost] = await usage(`groupBy=day,status&status=unresolved${query}`);
      assert.deepEqual([lost.day, lost.status, lost.calls, lost.heldYuan], ['2026-11-02', 'unresolved', 1, '0.000005']);
    }
    await g.database.script(`delete from calls where id = 'call_lost'`);
  });

  it('is printed by the command line as a table with totals, as JSON and as CSV', async () => {
    const cli = async (...given: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCommand(given, { DATABASE_URL: g.stored.url });
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const table = await cli('usage', '--group-by', 'model,context', '--account', alice.id);
    assert.match(
      table,
      /^MODEL +CONTEXT +CALLS +INPUT +OUTPUT +IMAGES +CHARGE ¥ +REFUND ¥ +PLANS ¥ +COST ¥ +MARGIN ¥ +MARGIN +OF BALANCE ¥ +OF BALANCE +OF PLANS ¥ +OF PLANS$/m,
    );
    assert.match(table, /^costed-chat +balance +2 /m);
    assert.match(table, /^test-chat +balance +1 .* - +-$/m);
    assert.match(table, /^all +3 .* -$/m);
    assert.match(
      table,
      /^Days are in the time zone Asia\/Shanghai; complete until \d{4}-\d\d-\d\d \S+ [+-]\d\d:\d\d\.$/m,
    );
    const [top] = JSON.parse(await cli('usage', '--group-by', 'account', '--top', '1', '--json')).data;
    const accounts = await usage('groupBy=account');
    const most = accounts.map(({ netChargeYuan }) => parseYuan(netChargeYuan)!).sort((a, b) => Number(b - a))[0];
    assert.equal(parseYuan(top.netChargeYuan), most);
    for (const filter of [[], ['--model', 'nothing']]) {
      const asked = filter.length === 0 ? '' : '&model=nothing';
      const printed = await cli('usage', '--group-by', 'account', '--to', '2026-11-02', '--csv', ...filter);
      assert.equal(printed, await csv(`/usage?groupBy=account&to=2026-11-02${asked}`));
    }
    const fast = await cli('latency', '--from', new Date(OCTOBER_MS).toISOString(), '--group-by', 'provider');
    assert.match(fast, /^PROVIDER +ATTEMPTS +ERRORS +REFUSED +P50 MS +P95 MS +FIRST P50 +FIRST P95 +TOKENS\/S$/m);
    const month = ['statement', '--account', alice.id, '--month', '2026-11'];
    assert.match(await cli(...month), /^\d{4}-\d\d-\d\d \S+ [+-]\d\d:\d\d +top_up +/m);
    assert.equal(await cli(...month, '--csv'), await csv(`/accounts/${alice.id}/statement?month=2026-11`));
    assert.match(await cli(...month), /^opening balance +¥.*\n(.*\n)+closing balance +¥/m);
    const wrong = await runCommand(['usage', '--group-by', 'colour'], { DATABASE_URL: g.stored.url });
    assert.deepEqual([wrong.code, /Unknown name "colour"/.test(wrong.stderr)], [2, true]);
  });

  it('has statements even if the sum of one kind exceeds the range of a balance', async () => {
    const { id } = await g.createAccount({ balanceYuan: '0' });
    const post = async (path: string, amountYuan: string) =>
      assert.equal((await g.admin('POST', `/accounts/${id}/${path}`, { amountYuan, memo: 'large' })).status, 201);
    // 93 times ¥100 million exceeds 64 bits of nano-yuan.
    for (let time = 0; time < 93; time++) {
      await post('top-ups', '100000000');
      await post('adjustments', '-100000000');
    }
    const statement = await get(`/accounts/${id}/statement?month=2026-11`);
    assert.deepEqual(
      statement.kinds.map(({ kind, amountYuan }: { kind: string; amountYuan: string }) => [kind, amountYuan]),
      [
        ['adjustment', '-9300000000'],
        ['top_up', '9300000000'],
      ],
    );
    assert.deepEqual([statement.openingYuan, statement.closingYuan], ['0', '0']);
  });

  it('has statements whose opening balance and entries add up to the closing balance', async () => {
    const october = await get(`/accounts/${alice.id}/statement?month=2026-10`);
    const november = await get(`/accounts/${alice.id}/statement?month=2026-11`);
    assert.equal(october.openingYuan, '0');
    assert.equal(november.openingYuan, october.closingYuan);
    assert.equal(november.closingYuan, (await get(`/accounts/${alice.id}`)).balanceYuan);
    assert.deepEqual([october.isOver, november.isOver], [true, false]);
    for (const month of [october, november]) {
      const sum = month.kinds.reduce(
        (nano: bigint, { amountYuan }: { amountYuan: string }) => nano + parseYuan(amountYuan)!,
        0n,
      );
      assert.equal(parseYuan(month.openingYuan)! + sum, parseYuan(month.closingYuan));
      const charged = month.models.reduce(
        (nano: bigint, row: { chargeYuan: string }) => nano + parseYuan(row.chargeYuan)!,
        0n,
      );
      const { amountYuan } = month.kinds.find(({ kind }: { kind: string }) => kind === 'charge');
      assert.equal(-charged, parseYuan(amountYuan));
    }
    assert.deepEqual(
      november.entries.map(({ kind, memo }: { kind: string; memo: string }) => [kind, memo]),
      [
        ['top_up', '+1 gift'],
        ['refund', 'sorry'],
      ],
    );
    const lines = (await csv(`/accounts/${alice.id}/statement?month=2026-11`)).trim().split('\r\n');
    const amounts = lines.slice(1).map((line) => parseYuan(line.split(',')[3]!)!);
    assert.equal(
      amounts.slice(0, -1).reduce((sum, nano) => sum + nano, 0n),
      amounts.at(-1),
    );
    assert.ok(lines.some((line) => line.endsWith(",'+1 gift,")));
    assert.equal((await g.admin('GET', '/accounts/acct_nobody/statement?month=2026-11')).status, 404);
    for (const month of ['2026-13', '9999-12', '0000-01']) {
      assert.equal((await g.admin('GET', `/accounts/${alice.id}/statement?month=${month}`)).status, 400, month);
    }
    assert.equal((await get(`/accounts/${alice.id}/statement?month=2999-12`)).openingYuan, november.closingYuan);
  });
});
