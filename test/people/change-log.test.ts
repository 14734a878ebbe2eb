import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { changeActor } from '../../src/changes/audit-log.ts';
import { type Change, type ChangeFilter, createChangesStore } from '../../src/changes/changes-store.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createIds, type Ids } from '../../src/lib/ids.ts';
import { UNHURRIED } from '../../src/lib/slices.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  ADMIN_TOKEN,
  LOCAL_TOKEN,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { ask, createPerson } from '../support/people.ts';
import { foundInChanges } from '../support/shown-secrets.ts';
import { until } from '../support/until.ts';
import { assertReviewed } from './reviewed-sentences.ts';

/** The audit log: nothing changes without a row; and the contents of rows. */

const EVERYTHING: ChangeFilter = {
  actorKind: null,
  actorId: null,
  action: null,
  subjectId: null,
  accountId: null,
  from: null,
  to: null,
};

describe('the actor of a change', () => {
  it('is recorded with its name at that time and its session or key; only the command line reports the local user', () => {
    const user = {
      kind: 'user',
      id: 'usr_1',
      name: 'Lin',
      sessionId: 'ses_1',
      operatorRole: null,
      memberships: [],
      authenticatedAtMs: null,
    } as const;
    const named = { kind: 'user', id: 'usr_1', name: 'Lin', sessionId: 'ses_1', localUser: null };
    assert.deepEqual(changeActor(user, 'mallory'), named);
    const key = changeActor(
      { kind: 'api_key', id: 'key_1', prefix: 'sk-fg-Ab12…', accountId: 'acct_1', userId: null },
      null,
    );
    assert.deepEqual([key.id, key.name], ['key_1', 'sk-fg-Ab12…']);
    assert.equal(changeActor({ kind: 'command_line' }, 'lin').localUser, 'lin');
  });
});

describe(`the store of the audit log`, { timeout: 60_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  const ids: Ids = createIds(clock);
  let stored: TestDatabase;
  const rows: Change[] = [];
  before(async () => {
    stored = await createTestDatabase();
    const store = createChangesStore(stored.database);
    for (let n = 0; n < 60; n++) {
      clock.advance(3_600_000);
      const row: Change = {
        id: ids.next('chg'),
        begunAtMs: clock.nowMs(),
        endedAtMs: clock.nowMs(),
        outcome: 'done',
        actor: {
          kind: n % 3 === 0 ? 'command_line' : 'admin_token',
          id: n % 3 === 0 ? null : `tok_${n % 4}`,
          name: 'somebody',
          sessionId: null,
          localUser: null,
        },
        method: 'PATCH',
        path: '/admin/v1/accounts/:id',
        action: n % 5 === 0 ? 'accounts.change' : 'keys.delete',
        subjectKind: 'key',
        subjectId: `key_${n % 6}`,
        accountId: n % 7 === 0 ? null : `acct_${n % 7}`,
        before: { n },
        after: null,
        clientAddress: '127.0.0.1',
        requestId: 'req_1',
        errorCode: null,
      };
      rows.unshift(row);
      await store.insert(row);
    }
  });
  after(() => stored.remove());

  const fits = (change: Change, filter: ChangeFilter): boolean =>
    (filter.actorKind === null || change.actor.kind === filter.actorKind) &&
    (filter.actorId === null || change.actor.id === filter.actorId) &&
    (filter.action === null || change.action === filter.action) &&
    (filter.subjectId === null || change.subjectId === filter.subjectId) &&
    (filter.accountId === null || change.accountId === filter.accountId) &&
    (filter.from === null || change.begunAtMs >= filter.from.getTime()) &&
    (filter.to === null || change.begunAtMs < filter.to.getTime());

  it('applies each filter and pair of filters, newest first and page by page', async () => {
    const store = createChangesStore(stored.database);
    const values: Partial<ChangeFilter>[] = [
      {},
      { actorKind: 'command_line' },
      { actorId: 'tok_1' },
      { action: 'accounts.change' },
      { subjectId: 'key_2' },
      { accountId: 'acct_3' },
      { from: new Date(rows[25]!.begunAtMs) },
      { to: new Date(rows[25]!.begunAtMs) },
    ];
    for (const one of values) {
      for (const other of values) {
        const filter = { ...EVERYTHING, ...one, ...other };
        const found: Change[] = [];
        let next: string | null = null;
        do {
          const page = await store.list(filter, next, 7, UNHURRIED);
          found.push(...page.items);
          next = page.next;
        } while (next !== null);
        assert.deepEqual(
          found,
          rows.filter((change) => fits(change, filter)),
          JSON.stringify(filter),
        );
      }
    }
  });

  it('records the outcome of a row once, and withdraws no row with an outcome', async () => {
    const store = createChangesStore(stored.database);
    const { id } = rows[0]!;
    const end = {
      actor: rows[0]!.actor,
      endedAtMs: 1,
      outcome: 'failed',
      subjectId: null,
      accountId: null,
      before: null,
      after: null,
      errorCode: 'x',
    } as const;
    await store.end(id, end);
    await store.withdraw(id);
    assert.deepEqual((await store.list(EVERYTHING, null, 1, UNHURRIED)).items, [rows[0]]);
  });

  it('deletes the oldest rows', async () => {
    const store = createChangesStore(stored.database);
    await store.deleteBefore(rows[9]!.begunAtMs, new AbortController().signal);
    assert.deepEqual((await store.list(EVERYTHING, null, 100, UNHURRIED)).items, rows.slice(0, 10));
  });

  it('deletes the row of a change without effect, unless others changed the subject meanwhile', async () => {
    const store = createChangesStore(stored.database);
    const [newest] = rows;
    const begin = async (subjectId: string): Promise<Change> => {
      clock.advance(3_600_000);
      const row: Change = { ...newest!, id: ids.next('chg'), begunAtMs: clock.nowMs(), endedAtMs: null, subjectId };
      await store.insert({ ...row, outcome: 'begun' });
      return row;
    };
    const isThere = async ({ id }: Change) => {
      const { items } = await store.list({ ...EVERYTHING, from: null }, null, 10, UNHURRIED);
      return items.some((each) => each.id === id);
    };
    const alone = await begin('key_alone');
    assert.equal(await store.withdrawUnchanged(alone.id, 'key_alone', alone.begunAtMs), true);
    assert.equal(await isThere(alone), false);

    // A change in progress, or one that ended since, may have changed the subject back and forth.
    const first = await begin('key_shared');
    const second = await begin('key_shared');
    assert.equal(await store.withdrawUnchanged(second.id, 'key_shared', second.begunAtMs), false);
    const end = { ...first, endedAtMs: second.begunAtMs + 1, outcome: 'done' } as const;
    await store.end(first.id, end);
    assert.equal(await store.withdrawUnchanged(second.id, 'key_shared', second.begunAtMs), false);
    assert.equal(await store.withdrawUnchanged(second.id, 'key_shared', second.begunAtMs + 2), true);
    // A row with an outcome stays.
    assert.equal(await store.withdrawUnchanged(first.id, 'key_shared', second.begunAtMs + 2), false);
    assert.equal(await isThere(first), true);
    await store.end(first.id, end);
  });
});

describe(`the audit log`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway();
    account = await g.createAccount();
  });
  after(() => g.stop());

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function changes(query: Record<string, string> = {}): Promise<any[]> {
    const { status, body } = await g.admin('GET', `/changes?${new URLSearchParams({ limit: '100', ...query })}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  }
  const rename = (name: string, headers: Record<string, string> = {}) =>
    g.admin('PATCH', `/accounts/${account.id}`, { name }, headers);

  it('records who changed what, from where, before and after', async () => {
    const renamed = await rename('renamed');
    const [change] = await changes({ accountId: account.id });
    assert.deepEqual(
      [change.action, change.method, change.path, change.outcome],
      ['accounts.change', 'PATCH', '/admin/v1/accounts/:id', 'done'],
    );
    assert.deepEqual(change.subject, { kind: 'account', id: account.id });
    assert.deepEqual([change.before.name, change.after.name], ['tester', 'renamed']);
    assert.deepEqual(change.after, renamed.body);
    assert.deepEqual(change.actor, {
      kind: 'admin_token',
      id: null,
      name: 'FAREGATE_ADMIN_TOKEN',
      sessionId: null,
      localUser: null,
    });
    assert.equal(change.clientAddress, '127.0.0.1');
    assert.match(change.requestId, /^req_/);
    assert.ok(Date.parse(change.endedAt) >= Date.parse(change.at));
  });

  it('records named tokens, and the local user at the command line, which no other client can set', async () => {
    const { body: token } = await g.admin('POST', '/tokens', { name: 'deploy', role: 'operator' });
    const header = { 'x-faregate-local-user': encodeURIComponent('林 lin') };
    await rename('by a token', { ...header, authorization: `Bearer ${token.token}` });
    await rename('by the command line', { ...header, authorization: `Bearer ${LOCAL_TOKEN}` });
    await rename('by a command line that hides', {
      'x-faregate-local-user': encodeURIComponent('\u001b[2J'),
      authorization: `Bearer ${LOCAL_TOKEN}`,
    });
    const [hidden, local, named] = (await changes({ accountId: account.id })).map(({ actor }) => actor);
    assert.deepEqual([named.kind, named.id, named.name, named.localUser], ['admin_token', token.id, 'deploy', null]);
    assert.deepEqual([local.kind, local.name, local.localUser], ['command_line', 'command line', '林 lin']);
    assert.equal(hidden.localUser, null);
    assert.deepEqual(
      (await changes({ actorId: token.id })).map(({ after }) => after.name),
      ['by a token'],
    );
    const [made] = await changes({ subjectId: token.id });
    assert.deepEqual([made.action, made.subject.kind, made.after.name], ['tokens.create', 'token', 'deploy']);
  });

  it('records users with their sessions, including one just created by a link, and keys of the account API', async () => {
    const lin = await createPerson(g, { name: 'Lin', memberships: [{ accountId: account.id, role: 'owner' }] });
    const [byLink] = await changes({ action: 'links.use.create' });
    assert.deepEqual([byLink.actor.kind, byLink.actor.id, byLink.outcome], ['user', lin.id, 'done']);

    const made = await ask(g, 'POST', '/keys', { name: 'of the account', scopes: ['account'] }, lin.headers);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const [byLin] = await changes({ actorId: lin.id });
    assert.deepEqual([byLin.action, byLin.path, byLin.accountId], ['keys.create', '/account/v1/keys', account.id]);
    assert.deepEqual([byLin.actor.kind, byLin.actor.name, byLin.subject.id], ['user', 'Lin', made.body.id]);
    assert.match(byLin.actor.sessionId, /^ses_/);

    const withKey = { authorization: `Bearer ${made.body.key}` };
    const other = await ask(g, 'POST', '/keys', { name: 'made by a key' }, withKey);
    assert.equal(other.status, 201, JSON.stringify(other.body));
    const [byKey] = await changes({ actorId: made.body.id });
    assert.deepEqual(
      [byKey.actor.kind, byKey.actor.name, byKey.accountId, byKey.subject.id],
      ['api_key', made.body.prefix, account.id, other.body.id],
    );
    const secrets = [made.body.key, other.body.key, lin.password, lin.headers.cookie.split('=')[1]!];
    assert.deepEqual(await foundInChanges(g.database, secrets), []);
  });

  it('records what was created, ended and paid, with its account and without secrets', async () => {
    const { body: key } = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'short-lived' });
    await g.admin('PATCH', `/keys/${key.id}`, { dailyCalls: 5 });
    const { body: other } = await g.admin('POST', `/keys/${key.id}/replacement`, { keepOldSeconds: 60 });
    await g.admin('DELETE', `/keys/${key.id}`);
    await g.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '2.5', memo: `paid with ${key.key}` });
    await g.admin('POST', '/routes/drain', { provider: 'chatty', reason: 'maintenance' });
    await g.admin('POST', '/routes/resume', { provider: 'chatty' });
    const found = (await changes()).slice(0, 7).reverse();
    assert.deepEqual(
      found.map(({ action, subject, accountId }) => [action, subject.kind, subject.id, accountId]),
      [
        ['accounts.keys.create', 'key', key.id, account.id],
        ['keys.change', 'key', key.id, account.id],
        ['keys.replacement.create', 'key', key.id, account.id],
        ['keys.delete', 'key', key.id, account.id],
        ['accounts.top-ups.create', 'account', account.id, account.id],
        ['routes.drain', 'drain', 'chatty', null],
        ['routes.resume', 'drain', 'chatty', null],
      ],
    );
    const { body: named } = await g.admin('GET', `/accounts/${account.id}`);
    assert.ok(found.every(({ accountId, accountName }) => accountName === (accountId === null ? null : named.name)));
    const [made, limited, replaced, ended, paid, drained, resumed] = found;
    assert.deepEqual([made.before, made.after.name], [null, 'short-lived']);
    assert.deepEqual([limited.before.dailyCalls, limited.after.dailyCalls], [null, 5]);
    assert.equal(replaced.after.id, other.id);
    assert.equal(ended.before.revokedAt, null);
    assert.ok(Date.parse(ended.after.revokedAt));
    assert.deepEqual([paid.before.balanceYuan, paid.after.balanceYuan], ['100', '102.5']);
    assert.deepEqual([drained.before, drained.after.reason], [null, 'maintenance']);
    assert.deepEqual([resumed.before.reason, resumed.after], ['maintenance', null]);
    const searched = ['short-lived', 'maintenance', key.key, other.key, ADMIN_TOKEN, LOCAL_TOKEN];
    assert.deepEqual(await foundInChanges(g.database, searched), ['short-lived', 'maintenance']);
  });

  it('contains no row for refused changes', async () => {
    const known = await changes();
    assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, { name: '' })).status, 400);
    assert.equal((await g.admin('PATCH', '/accounts/acct_none', { name: 'x' })).status, 404);
    assert.equal((await g.admin('DELETE', '/keys/key_none')).status, 404);
    assert.equal((await g.admin('POST', '/tokens', { name: 'deploy' })).status, 409);
    assert.equal((await rename('x', { authorization: 'Bearer wrong' })).status, 401);
    assert.deepEqual(await changes(), known);
  });

  it('refuses a change if its row cannot be written', async () => {
    const insert = g.observed.statement('changes.insert');
    insert.fail('before');
    assert.equal((await rename('without a row')).status, 500);
    insert.recover();
    assert.notEqual((await g.admin('GET', `/accounts/${account.id}`)).body.name, 'without a row');
  });

  it('shows changes in progress, or without a recorded outcome, as unknown', async () => {
    const end = g.observed.statement('changes.end');
    end.hold('before');
    const asked = end.asked;
    const running = rename('slowly');
    await end.reached(asked + 1);
    const [begun] = await changes({ accountId: account.id });
    assert.deepEqual([begun.outcome, begun.endedAt, begun.after], ['unknown', null, null]);
    assert.equal(begun.subject.id, account.id);
    end.release();
    assert.equal((await running).status, 200);
    assert.equal((await changes({ accountId: account.id }))[0].outcome, 'done');

    // A node that dies after the change leaves the same row.
    end.fail('before');
    assert.equal((await rename('and then nothing')).status, 200);
    end.recover();
    const [left] = await changes({ accountId: account.id });
    assert.deepEqual([left.outcome, left.before.name], ['unknown', 'slowly']);
  });

  it('keeps the row of a failed change, which may have had an effect', async () => {
    const update = g.observed.statement('accounts.update');
    update.fail('after');
    assert.equal((await rename('changed, and not responded')).status, 500);
    update.recover();
    const [failed] = await changes({ accountId: account.id });
    assert.deepEqual([failed.outcome, failed.errorCode], ['failed', 'internal_error']);
  });

  it('contains a row for each of many concurrent changes', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `racing ${n}`);
    const from = new Date().toISOString();
    const responses = await Promise.all(names.map((name) => rename(name)));
    assert.ok(responses.every(({ status }) => status === 200));
    const found = await changes({ accountId: account.id, from });
    assert.equal(found.length, 12);
    assert.ok(found.every(({ outcome }) => outcome === 'done'));
    assert.equal(new Set(found.map(({ id }) => id)).size, 12);
  });

  it('records what a reloaded configuration changed, without secrets', async () => {
    const text = testConfigText(g.provider.url, { billing: 'dailySpendCapYuan: "7654321"' });
    g.gateway.reload(parseConfig(text, 'test.yaml', {}));
    await until(async () => (await changes({ actorKind: 'configuration' })).length === 1);
    const [reloaded] = await changes({ actorKind: 'configuration' });
    assert.deepEqual([reloaded.action, reloaded.subject.kind, reloaded.requestId], ['config.reload', 'node', null]);
    assert.ok(
      reloaded.after.changes.includes('billing: daily spend cap ¥7654321 added'),
      String(reloaded.after.changes),
    );
    assertReviewed('configuration reloaded', reloaded.sentence);
    assert.deepEqual(await foundInChanges(g.database, ['provider-secret-key-1']), []);
  });
});
