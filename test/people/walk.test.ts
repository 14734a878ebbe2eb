import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountApiDependencies, accountTable } from '../../src/api/registers/account.ts';
import { type AdminApiDependencies, adminTable } from '../../src/api/registers/admin.ts';
import { type PeopleApiDependencies, peopleTable } from '../../src/api/registers/people.ts';
import { send, startGateway, type TestGateway } from '../support/gateway.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { type ExpectedAccess, ROLES, type RoleName, refusalOf, SIGNED_IN } from './roles.ts';
import { peopleOfWalk, type Scene } from './scene.ts';

/**
 * Requests every endpoint of both APIs as every actor. Endpoints come from the tables, so new ones are included; the expected result
 * follows from an endpoint's needs and `roles.ts`. Allowed requests name missing resources or have invalid bodies, so the walk changes
 * nothing.
 */

const NOWHERE = 'none_of_these';
const WRONG_BODY = { nothingTakesThis: true };

/** Resources of others that the `:id` of an account API endpoint could name. A new endpoint must be listed here. */
const OTHERS: Readonly<Record<string, (scene: Scene) => { ofAccount: string; ofMember: string }>> = {
  '/keys/:id': ({ other, mo }) => ({ ofAccount: other.keyId, ofMember: mo.keyId }),
  '/keys/:id/replacement': ({ other, mo }) => ({ ofAccount: other.keyId, ofMember: mo.keyId }),
  // Whoever may change members may change everything in the account.
  '/members/:id': ({ otherUserId }) => ({ ofAccount: otherUserId, ofMember: otherUserId }),
  '/invitations/:id': ({ otherInvitationId }) => ({ ofAccount: otherInvitationId, ofMember: otherInvitationId }),
  // These belong to the account as a whole.
  '/receipts/:id': ({ otherTopUpId }) => ({ ofAccount: otherTopUpId, ofMember: otherTopUpId }),
  '/webhooks/:id': ({ otherWebhookId }) => ({ ofAccount: otherWebhookId, ofMember: otherWebhookId }),
  '/webhooks/:id/test': ({ otherWebhookId }) => ({ ofAccount: otherWebhookId, ofMember: otherWebhookId }),
  '/webhooks/:id/deliveries': ({ otherWebhookId }) => ({ ofAccount: otherWebhookId, ofMember: otherWebhookId }),
  '/webhooks/:id/redeliver': ({ otherWebhookId }) => ({ ofAccount: otherWebhookId, ofMember: otherWebhookId }),
  '/calls/:id': ({ other, mo }) => ({ ofAccount: other.callId, ofMember: mo.callId }),
};

/** Bodies of endpoints that look up their `:id` after reading the body. */
const BODIES: Readonly<Record<string, object>> = { '/members/:id': { role: 'member' } };

/** Required query parameters. */
const QUERIES: Readonly<Record<string, string>> = { '/statement': 'month=2026-11' };

/** Endpoints with neither id nor body that may be called nevertheless. */
const WITHOUT_BODY: ReadonlySet<string> = new Set([
  '/audit',
  '/catalog/price-source/read',
  '/config/reload',
  '/export',
  '/secrets/rotate',
]);

const bodyOf = (schema: unknown): object | undefined => (schema === null ? undefined : WRONG_BODY);

const adminRows = adminTable({} as AdminApiDependencies);
const accountRows = accountTable({} as AccountApiDependencies);
const peopleRows = peopleTable({} as PeopleApiDependencies);
const roles = Object.entries(ROLES) as [RoleName, ExpectedAccess][];

describe(`every endpoint as every actor`, { timeout: 300_000 }, () => {
  let g: TestGateway;
  let scene: Scene;
  /** The state after the setup. */
  let stored: unknown;
  before(async () => {
    // The clock runs so fast that guesses are not throttled.
    let elapsedMs = 0;
    const monotonicMs = () => {
      elapsedMs += 10_000;
      return elapsedMs;
    };
    g = await startGateway({ localToken: 'token-of-the-command-line', monotonicMs, usageIntervalMs: 10 });
    scene = await peopleOfWalk(g);
    stored = await contents(g);
  });
  after(() => g.stop());

  const ask = (role: RoleName, method: string, path: string, body?: object) =>
    send(g.url + path, method, body, scene.headers[role]);

  function check(status: number, refusal: number | null, what: string): void {
    if (refusal !== null) assert.equal(status, refusal, what);
    else assert.ok([200, 400, 404, 409, 422].includes(status), `${what}: ${status}`);
  }

  for (const [role, { admin }] of roles) {
    it(`the admin API as ${role}`, async () => {
      for (const { method, path, needs, bodySchema } of adminRows) {
        const url = `/admin/v1${path.replace(':id', NOWHERE)}`;
        assert.ok(
          bodySchema !== null || path.includes(':id') || method === 'GET' || WITHOUT_BODY.has(path),
          `${method} ${path} cannot be walked`,
        );
        const { status } = await ask(role, method, url, bodyOf(bodySchema));
        check(status, refusalOf(admin, needs), `${method} ${path}`);
      }
      // An allowed export leaves an audit log row and nothing else.
      const taken = await sql(g.database, `delete from changes where action = 'export' returning id`);
      assert.equal(taken.length, refusalOf(admin, 'export') === null ? 1 : 0);
      assert.deepEqual(await contents(g), stored);
    });
  }

  for (const [role, { account, named }] of roles) {
    it(`the account API as ${role}`, async () => {
      for (const { method, path, needs, bodySchema } of accountRows) {
        assert.ok(
          bodySchema !== null || path.includes(':id') || method === 'GET',
          `${method} ${path} cannot be walked`,
        );
        const url = `/account/v1${path.replace(':id', NOWHERE)}?${QUERIES[path] ?? ''}`;
        const refusal = refusalOf(account, needs);
        const own = await ask(role, method, url, bodyOf(bodySchema));
        check(own.status, refusal, `${method} ${path}`);
        if (refusal === null && method === 'GET' && !path.includes(':id')) assert.equal(own.status, 200, path);
        const byName = await ask(role, method, `${url}&accountId=${scene.account.id}`, bodyOf(bodySchema));
        const isOfOther = named !== undefined && typeof account !== 'number';
        check(byName.status, isOfOther ? named : refusal, `${method} ${path} of the account`);
        if (isOfOther) assert.ok(!byName.text.includes(scene.account.name), path);
      }
      assert.deepEqual(await contents(g), stored);
    });
  }

  for (const [role] of roles) {
    it(`endpoints for own data as ${role}`, async () => {
      for (const { method, path, needs, bodySchema } of peopleRows) {
        const isSignedIn = SIGNED_IN.has(role);
        if (isSignedIn && ENDS_SESSIONS.has(`${method} ${path}`)) continue;
        const refusal = needs === 'anyone' || isSignedIn ? null : refusalOfStranger(role);
        const { status } = await ask(role, method, `/account/v1${path.replace(':id', NOWHERE)}`, bodyOf(bodySchema));
        check(status, refusal, `${method} ${path}`);
      }
      assert.deepEqual(await contents(g), stored);
    });
  }

  it('a page of another site can change, start and read nothing in a signed-in user’s name', async () => {
    const tables = [
      { prefix: '/admin/v1', rows: adminRows, role: 'an operator who signed in' },
      { prefix: '/account/v1', rows: accountRows, role: 'an owner' },
      { prefix: '/account/v1', rows: peopleRows, role: 'an owner' },
    ] as const;
    const { id: accountId } = scene.account;
    for (const { prefix, rows, role } of tables) {
      for (const { method, path, bodySchema, isChange } of rows) {
        const { cookie } = scene.headers[role];
        const url = `${g.url}${prefix}${path.replace(':id', path.startsWith('/accounts/') ? accountId : scene.lin.keyId)}`;
        const body = bodyOf(bodySchema);
        if (method === 'GET') {
          // A link does not show its origin, so it must have no effect.
          assert.equal(isChange, false, path);
          await send(`${url}?${QUERIES[path] ?? ''}`, method, body, {
            cookie: cookie!,
            'sec-fetch-site': 'cross-site',
          });
          continue;
        }
        for (const site of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://elsewhere.example' }]) {
          const { status, text } = await send(url, method, body, { cookie: cookie!, ...site } as Record<
            string,
            string
          >);
          assert.deepEqual([status, /page of another site/.test(text)], [403, true], `${method} ${path}: ${text}`);
        }
      }
    }
    assert.deepEqual(await contents(g), stored);
    for (const path of ['/export', '/audit']) {
      const response = await fetch(`${g.url}/admin/v1${path}`, {
        headers: scene.headers['an operator who signed in'],
      });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST']);
    }
  });

  it('resources of others are not found at any endpoint', async () => {
    for (const { method, path, needs, bodySchema } of accountRows) {
      if (!path.includes(':id')) continue;
      const others = OTHERS[path];
      assert.ok(others, `${method} ${path}: say in OTHERS what of others its id could name`);
      const { ofAccount, ofMember } = others(scene);
      const asked = [
        ['a key of the account', ofAccount],
        ['an owner', ofAccount],
        ['a key of a member', ofAccount],
        ['a key of a member', ofMember],
        ['a member', ofAccount],
        ['a member', ofMember],
      ] as const;
      for (const [role, id] of asked) {
        const body = bodySchema === null ? undefined : (BODIES[path] ?? WRONG_BODY);
        const response = await ask(role, method, `/account/v1${path.replace(':id', id)}`, body);
        const expected = refusalOf((ROLES[role] as ExpectedAccess).account, needs) ?? 404;
        assert.equal(response.status, expected, `${method} ${path} as ${role}`);
        const unknown = await ask(role, method, `/account/v1${path.replace(':id', NOWHERE)}`, body);
        assert.equal(response.text.replaceAll(id, NOWHERE), unknown.text, `${method} ${path} as ${role}`);
      }
    }
    assert.deepEqual(await contents(g), stored);
  });

  it('lists contain nothing of others', async () => {
    const { other, mo, lin } = scene;
    await until(async () => (await ask('a key of a member', 'GET', '/account/v1/usage')).text.includes('"calls":1'));
    const texts = new Map<RoleName, string>();
    for (const role of ['a key of the account', 'a key of a member', 'an owner', 'a member'] as const) {
      let text = '';
      for (const { method, path, needs } of accountRows) {
        const isRefused = refusalOf((ROLES[role] as ExpectedAccess).account, needs) !== null;
        if (method !== 'GET' || path.includes(':id') || isRefused) continue;
        const queries = [QUERIES[path] ?? '', ...(path === '/usage' ? ['groupBy=key,model,day'] : [])];
        if (path === '/calls') queries.push('status=in_flight', `requestId=${mo.callId}`, 'requestId=shared-by-all');
        for (const query of queries) text += (await ask(role, method, `/account/v1${path}?${query}`)).text;
      }
      texts.set(role, text);
    }
    const ofOther = [other.id, other.name, other.keyId, other.prefix, other.callId];
    const ofMo = [mo.keyId, mo.prefix, mo.callId, mo.id];
    const ofLin = [lin.keyId, lin.prefix, lin.callId, lin.id];
    for (const [role, text] of texts) {
      const isWhole = role === 'an owner' || role === 'a key of the account';
      const [own, foreign] = isWhole ? [[...ofLin, ...ofMo], ofOther] : [ofLin, [...ofOther, ...ofMo]];
      for (const word of own) assert.ok(text.includes(word), `${role}: ${word}`);
      for (const word of foreign) assert.ok(!text.includes(word), `${role}: ${word}`);
    }
  });
});

/** The refusal of an actor who is known but has not signed in. */
function refusalOfStranger(role: RoleName): 401 | 403 {
  const { admin, account }: ExpectedAccess = ROLES[role];
  return admin === 401 && account === 401 ? 401 : 403;
}

/** Endpoints that would change something for every allowed actor. */
const ENDS_SESSIONS: ReadonlySet<string> = new Set(['DELETE /session', 'DELETE /sessions']);

/** Everything that the walk could change. */
async function contents(g: TestGateway): Promise<unknown> {
  const tables = await sql<{ name: string }>(
    g.database,
    `select c.relname as name from pg_class c where c.relkind in ('r', 'p') and not c.relispartition
and c.relnamespace = current_schema()::regnamespace order by c.relname`,
  );
  const row = "to_jsonb(t) - array['last_used_at', 'last_seen_at', 'last_sign_in_at']";
  const texts = tables
    .filter(({ name }) => !ALIVE.has(name))
    .map(({ name }) => `select '${name}' as name, jsonb_agg(${row} order by (${row})::text) as rows from ${name} t`);
  return sql(g.database, `${texts.join(' union all ')} order by name`);
}

/** Tables written in the background. */
const ALIVE: ReadonlySet<string> = new Set([
  'nodes',
  'key_uses',
  'refusals',
  'usage_queue',
  'usage_rollups',
  'usage_totals',
  'usage_backfill',
]);
