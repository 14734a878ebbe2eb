import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { type AccountApiDependencies, accountTable } from '../../src/api/registers/account.ts';
import { type AdminApiDependencies, adminTable } from '../../src/api/registers/admin.ts';
import { type PeopleApiDependencies, peopleTable } from '../../src/api/registers/people.ts';
import { createSealingKey } from '../../src/config/sealed-secrets/sealing.ts';
import { plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { ask, createPerson, signIn, type TestPerson, tokenOf } from '../support/people.ts';
import { chatResponse } from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { assertReviewed, assertReviewedAll, type Bilingual, NOTIFIED_ELSEWHERE } from './reviewed-sentences.ts';

/** Each change of both APIs leaves a row with the subject before and after it. */

/** How a change affects its subject, which determines the recorded states. */
type Effect = 'makes' | 'alters' | 'removes' | 'reads';

interface Made {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly body: any;
}

interface Case {
  readonly effect: Effect;
  /** Makes the change; returns the response with the id of its subject. */
  run(): Promise<{ readonly response: Made; readonly id: string | null }>;
}

const tables = {
  admin: adminTable({} as AdminApiDependencies),
  account: accountTable({} as AccountApiDependencies),
  people: peopleTable({} as PeopleApiDependencies),
};
/** Each response format other than JSON, and each optional parameter, counts as a separate change. */
const forms = Object.entries(tables).flatMap(([api, table]) =>
  table
    .filter(({ isChange }) => isChange)
    .flatMap(({ method, path, lines, responseSchema, querySchema }) => {
      const parameters = querySchema === null ? [] : Object.entries((querySchema as z.ZodObject).shape);
      const optional = parameters.filter(([, schema]) => (schema as z.ZodType).safeParse(undefined).success);
      const name = `${api} ${method} ${path}`;
      return [
        name,
        ...(lines === null || responseSchema === null ? [] : [`${name} as ${lines.mediaType}`]),
        ...optional.map(([parameter]) => `${name} with ${parameter}`),
      ];
    }),
);
/** Changes without a visible effect on their subject; their rows record that they happened. */
const SHOWS_NO_DIFFERENCE: ReadonlySet<string> = new Set(['people PUT /password']);

const ANNOUNCEMENT = { textEn: 'Maintenance', textZh: '维护', endsAt: '2099-01-01T00:00:00Z' };

describe('the responses of both APIs', () => {
  it('contain the id next to each name of an actor', () => {
    const shown = Object.values(tables).flatMap((table) =>
      table.flatMap(({ responseSchema }) =>
        responseSchema === null ? [] : namesOfSigners(z.toJSONSchema(responseSchema)),
      ),
    );
    assert.deepEqual([...new Set(shown)].sort(), ['by', 'createdBy', 'redeemedBy', 'requestedBy']);
  });
});

/** Members of a schema with names of actors; each needs a member with the id. */
function namesOfSigners(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  const own = Object.entries(properties ?? {}).flatMap(([name, member]) =>
    /^by$|By$/.test(name) && isText(member) ? [name] : [],
  );
  for (const name of own) assert.ok(`${name}Id` in properties!, `${name} has no ${name}Id beside it`);
  return [...own, ...Object.values(schema).flatMap(namesOfSigners)];
}

const isText = (schema: unknown): boolean => {
  const { type, anyOf = [] } = schema as { readonly type?: string; readonly anyOf?: readonly unknown[] };
  return type === 'string' || anyOf.some(isText);
};

describe('the row of a change', () => {
  let g: TestGateway;
  let accountId: string;
  let owner: TestPerson;
  let names = 0;
  /** A unique name for a kind. Reviewed sentences omit the number. */
  const name = (kind: string): string => `${kind} ${++names}`;
  before(async () => {
    const key = createSealingKey(randomBytes(32));
    g = await startGateway({ plans: plansText({ wide: {} }), sealingKeys: () => [key] });
    g.provider.respond = chatResponse();
    accountId = (await g.createAccount()).id;
    owner = await createPerson(g, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
    await done(await own('PATCH', '/account', { buyer: { companyName: 'Lantern Ltd' } }));
  });
  after(() => g.stop());

  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Made> =>
    g.admin(method, path, body, headers);
  const own = (
    method: string,
    path: string,
    body?: object,
    person: Pick<TestPerson, 'headers'> = owner,
  ): Promise<Made> => ask(g, method, path, body, person.headers);

  async function done(response: Made): Promise<Made> {
    assert.ok(response.status < 300, JSON.stringify(response.body));
    return response;
  }
  /** Creates the subject of a change and returns its id. */
  const idOf = async (made: Promise<Made>): Promise<string> => (await done(await made)).body.id;
  const account = () => idOf(admin('POST', '/accounts', { name: name('Acme'), verified: true, balanceYuan: '10' }));
  const key = () => idOf(admin('POST', `/accounts/${accountId}/keys`, { name: name('ci') }));
  const user = () => idOf(admin('POST', '/users', { name: name('Lin') }));
  /** A user created by a token. */
  const unconfirmed = async () => {
    const { token } = (await done(await admin('POST', '/tokens', { name: name('deploy'), role: 'operator' }))).body;
    return idOf(admin('POST', '/users', { name: name('Lin') }, { authorization: `Bearer ${token}` }));
  };
  const endpoint = () => idOf(admin('POST', '/webhooks', { url: 'https://hooks.example.com/secret-path' }));
  const ownEndpoint = () => idOf(own('POST', '/webhooks', { url: 'https://hooks.example.com/secret-path' }));
  const secret = async () => (await done(await admin('PUT', '/secrets/lost', { value: 'secret-path' }))).body.name;
  const subscription = async () =>
    idOf(admin('POST', `/accounts/${await account()}/subscriptions`, { planId: 'wide' }));
  const person = () => createPerson(g, { name: name('Lin'), memberships: [{ accountId, role: 'member' }] });
  const batch = (headers?: Record<string, string>) =>
    admin('POST', '/vouchers', { name: name('fair'), count: 1, amountYuan: '1' }, headers);

  const topUp = async (): Promise<string> =>
    (await done(await admin('POST', `/accounts/${accountId}/top-ups`, { amountYuan: '1' }))).body.entryId;
  const invoiceRequest = async () => idOf(own('POST', '/invoice-requests', { entryIds: [await topUp()] }));

  async function chargedCall(): Promise<string> {
    const paying = await g.createAccount();
    const body = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await call(`${g.url}/v1/chat/completions`, paying.key, body)).status, 200);
    return (await paying.lastCall())!.id;
  }

  async function withId(effect: Effect, id: Promise<string>, run: (id: string) => Promise<Made>) {
    const known = await id;
    return { effect, response: await run(known), id: known };
  }
  const of = (effect: Effect, make: () => Promise<string>, run: (id: string) => Promise<Made>): Case => ({
    effect,
    run: () => withId(effect, make(), run),
  });
  const makes = (run: () => Promise<Made>, idIn: (body: Made['body']) => string | null = (body) => body.id): Case => ({
    effect: 'makes',
    async run() {
      const response = await run();
      return { response, id: idIn(response.body) };
    },
  });
  const ofAccount = (run: (id: string) => Promise<Made>): Case => of('alters', account, run);
  const ofOwn = (effect: Effect, run: () => Promise<Made>): Case => of(effect, async () => accountId, run);

  /** The last notice of an endpoint that can be resent. */
  async function tested(api: (method: string, path: string) => Promise<Made>, id: string): Promise<object> {
    return (await done(await api('POST', `/webhooks/${id}/test`))).body;
  }

  const cases: Readonly<Record<string, Case>> = {
    'admin POST /accounts': makes(() => admin('POST', '/accounts', { name: name('Acme') })),
    'admin PATCH /accounts/:id': ofAccount((id) => admin('PATCH', `/accounts/${id}`, { name: name('Acme') })),
    'admin POST /accounts/:id/keys': makes(() => admin('POST', `/accounts/${accountId}/keys`, { name: name('ci') })),
    'admin POST /accounts/:id/imported-keys': makes(() =>
      admin('POST', `/accounts/${accountId}/imported-keys`, {
        name: name('ci'),
        sha256: randomBytes(32).toString('hex'),
        prefix: 'sk-Ab12…',
      }),
    ),
    'admin PATCH /keys/:id': of('alters', key, (id) => admin('PATCH', `/keys/${id}`, { dailyCalls: 3 })),
    'admin POST /keys/:id/replacement': of('alters', key, (id) =>
      admin('POST', `/keys/${id}/replacement`, { keepOldSeconds: 60 }),
    ),
    'admin DELETE /keys/:id': of('alters', key, (id) => admin('DELETE', `/keys/${id}`)),
    'admin POST /accounts/:id/top-ups': ofAccount((id) =>
      admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '1' }),
    ),
    'admin POST /accounts/:id/adjustments': ofAccount((id) =>
      admin('POST', `/accounts/${id}/adjustments`, { amountYuan: '-1', memo: 'a slip' }),
    ),
    'admin POST /calls/:id/refunds': of('alters', chargedCall, (id) =>
      admin('POST', `/calls/${id}/refunds`, { memo: 'by courtesy' }, { 'idempotency-key': id }),
    ),
    'admin POST /accounts/:id/subscriptions': makes(async () =>
      admin('POST', `/accounts/${await account()}/subscriptions`, { planId: 'wide' }),
    ),
    'admin POST /subscriptions/:id/renewals': of('alters', subscription, (id) =>
      admin('POST', `/subscriptions/${id}/renewals`, {}),
    ),
    'admin DELETE /subscriptions/:id': of('alters', subscription, (id) => admin('DELETE', `/subscriptions/${id}`)),
    'admin POST /routes/drain': makes(
      () => admin('POST', '/routes/drain', { provider: 'chatty', reason: 'maintenance' }),
      ({ provider }) => provider,
    ),
    'admin POST /routes/resume': {
      effect: 'removes',
      run: async () => ({ response: await admin('POST', '/routes/resume', { provider: 'chatty' }), id: 'chatty' }),
    },
    'admin PUT /secrets/:id': makes(
      () => admin('PUT', '/secrets/acme', { value: 'secret-path' }),
      (body) => body.name,
    ),
    'admin DELETE /secrets/:id': of('removes', secret, (id) => admin('DELETE', `/secrets/${id}`)),
    'admin POST /secrets/rotate': makes(
      () => admin('POST', '/secrets/rotate'),
      () => null,
    ),
    'admin POST /tokens': makes(() => admin('POST', '/tokens', { name: name('deploy') })),
    'admin DELETE /tokens/:id': of(
      'alters',
      () => idOf(admin('POST', '/tokens', { name: name('deploy') })),
      (id) => admin('DELETE', `/tokens/${id}`),
    ),
    'admin DELETE /tokens/:id with keepMade': of(
      'alters',
      () => idOf(admin('POST', '/tokens', { name: name('deploy') })),
      (id) => admin('DELETE', `/tokens/${id}?keepMade=true`, undefined, { authorization: `Bearer ${g.localToken}` }),
    ),
    'admin POST /users': makes(() => admin('POST', '/users', { name: name('Lin') })),
    'admin PATCH /users/:id': of('alters', user, (id) => admin('PATCH', `/users/${id}`, { name: name('Lin') })),
    'admin POST /users/:id/confirm': of('alters', unconfirmed, (id) =>
      admin('POST', `/users/${id}/confirm`, undefined, { authorization: `Bearer ${g.localToken}` }),
    ),
    'admin DELETE /users/:id': of('removes', user, (id) => admin('DELETE', `/users/${id}`)),
    'admin POST /users/:id/links': of('alters', user, (id) => admin('POST', `/users/${id}/links`)),
    'admin DELETE /users/:id/sessions': of(
      'alters',
      async () => (await person()).id,
      (id) => admin('DELETE', `/users/${id}/sessions`),
    ),
    'admin PATCH /accounts/:id/caller-budgets': ofAccount((id) =>
      admin('PATCH', `/accounts/${id}/caller-budgets`, { kind: 'tag', value: 'night', dailySpendCapYuan: '3' }),
    ),
    'admin POST /accounts/:id/members': of('makes', user, (userId) =>
      admin('POST', `/accounts/${accountId}/members`, { userId, role: 'member' }),
    ),
    'admin PATCH /accounts/:id/members': of(
      'alters',
      async () => (await person()).id,
      (userId) => admin('PATCH', `/accounts/${accountId}/members`, { userId, dailyCalls: 3 }),
    ),
    'admin DELETE /accounts/:id/members': of(
      'removes',
      async () => (await person()).id,
      (userId) => admin('DELETE', `/accounts/${accountId}/members?userId=${userId}`),
    ),
    'admin DELETE /accounts/:id/members with keys': of(
      'alters',
      async () => (await person()).id,
      (userId) => admin('DELETE', `/accounts/${accountId}/members?userId=${userId}&keys=revoke`),
    ),
    'admin DELETE /accounts/:id/members with keysTo': of(
      'alters',
      async () => (await person()).id,
      (userId) => admin('DELETE', `/accounts/${accountId}/members?userId=${userId}&keysTo=${owner.id}`),
    ),
    'admin POST /announcements': makes(() => admin('POST', '/announcements', ANNOUNCEMENT)),
    'admin PATCH /announcements/:id': of(
      'alters',
      () => idOf(admin('POST', '/announcements', ANNOUNCEMENT)),
      (id) => admin('PATCH', `/announcements/${id}`, { level: 'warning' }),
    ),
    'admin DELETE /announcements/:id': of(
      'removes',
      () => idOf(admin('POST', '/announcements', ANNOUNCEMENT)),
      (id) => admin('DELETE', `/announcements/${id}`),
    ),
    'admin POST /webhooks': makes(() => admin('POST', '/webhooks', { url: 'https://hooks.example.com/x' })),
    'admin PATCH /webhooks/:id': of('alters', endpoint, (id) =>
      admin('PATCH', `/webhooks/${id}`, { status: 'disabled' }),
    ),
    'admin DELETE /webhooks/:id': of('removes', endpoint, (id) => admin('DELETE', `/webhooks/${id}`)),
    'admin POST /webhooks/:id/test': of('alters', endpoint, (id) => admin('POST', `/webhooks/${id}/test`)),
    'admin POST /webhooks/:id/redeliver': of('alters', endpoint, async (id) =>
      admin('POST', `/webhooks/${id}/redeliver`, await tested(admin, id)),
    ),
    'admin PUT /accounts/:id/low-balance': ofAccount((id) =>
      admin('PUT', `/accounts/${id}/low-balance`, { thresholdYuan: '3' }),
    ),
    'admin POST /vouchers': makes(() => batch()),
    'admin POST /vouchers as text/csv': {
      effect: 'makes',
      async run() {
        const made = await fetch(`${g.url}/admin/v1/vouchers`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', accept: 'text/csv' },
          body: JSON.stringify({ name: name('fair'), count: 1, amountYuan: '1' }),
        });
        assert.match(await made.text(), /^code/);
        const { body } = await admin('GET', '/vouchers?limit=1');
        return { response: { status: made.status, body: null }, id: body.data[0].id };
      },
    },
    'admin DELETE /vouchers/:id': of(
      'alters',
      () => idOf(batch()),
      (id) => admin('DELETE', `/vouchers/${id}`),
    ),
    'admin POST /accounts/:id/vouchers': makes(
      async () => admin('POST', `/accounts/${await account()}/vouchers`, { code: (await batch()).body.codes[0] }),
      ({ batchId, id }) => id ?? batchId,
    ),
    'admin POST /export': {
      effect: 'reads',
      async run() {
        const operator = await createPerson(g, { name: 'Olga', operatorRole: 'operator' });
        const { status, body } = await fetch(`${g.url}/admin/v1/export`, { method: 'POST', headers: operator.headers });
        // An interrupted download has delivered some of it.
        await body!.cancel();
        return { response: { status, body: null }, id: null };
      },
    },
    'admin POST /invoice-requests/:id/issue': of('alters', invoiceRequest, (id) =>
      admin('POST', `/invoice-requests/${id}/issue`, { invoiceNumber: 'INV-1' }),
    ),
    'admin POST /invoice-requests/:id/refuse': of('alters', invoiceRequest, (id) =>
      admin('POST', `/invoice-requests/${id}/refuse`, { note: 'not paid' }),
    ),
    'account POST /invoice-requests': makes(async () =>
      own('POST', '/invoice-requests', { entryIds: [await topUp()] }),
    ),
    'account PATCH /account': ofOwn('alters', () => own('PATCH', '/account', { name: name('Acme') })),
    'account PATCH /caller-budgets': ofOwn('alters', () =>
      own('PATCH', '/caller-budgets', { kind: 'tag', value: 'night', dailySpendCapYuan: '3' }),
    ),
    'account POST /keys': makes(() => own('POST', '/keys', { name: name('ci') })),
    'account PATCH /keys/:id': of('alters', key, (id) => own('PATCH', `/keys/${id}`, { dailyCalls: 3 })),
    'account POST /keys/:id/replacement': of('alters', key, (id) =>
      own('POST', `/keys/${id}/replacement`, { keepOldSeconds: 60 }),
    ),
    'account DELETE /keys/:id': of('alters', key, (id) => own('DELETE', `/keys/${id}`)),
    'account POST /vouchers': makes(
      async () => own('POST', '/vouchers', { code: (await batch()).body.codes[0] }),
      ({ batchId, id }) => id ?? batchId,
    ),
    'account PATCH /members/:id': of(
      'alters',
      async () => (await person()).id,
      (id) => own('PATCH', `/members/${id}`, { role: 'owner' }),
    ),
    'account DELETE /members/:id': of(
      'removes',
      async () => (await person()).id,
      (id) => own('DELETE', `/members/${id}`),
    ),
    'account DELETE /members/:id with keys': of(
      'alters',
      async () => (await person()).id,
      (id) => own('DELETE', `/members/${id}?keys=revoke`),
    ),
    'account DELETE /members/:id with keysTo': of(
      'alters',
      async () => (await person()).id,
      (id) => own('DELETE', `/members/${id}?keysTo=${owner.id}`),
    ),
    'account POST /invitations': makes(() => own('POST', '/invitations', {})),
    'account DELETE /invitations/:id': of(
      'removes',
      () => idOf(own('POST', '/invitations', {})),
      (id) => own('DELETE', `/invitations/${id}`),
    ),
    'account POST /webhooks': makes(() => own('POST', '/webhooks', { url: 'https://hooks.example.com/x' })),
    'account PATCH /webhooks/:id': of('alters', ownEndpoint, (id) =>
      own('PATCH', `/webhooks/${id}`, { status: 'disabled' }),
    ),
    'account DELETE /webhooks/:id': of('removes', ownEndpoint, (id) => own('DELETE', `/webhooks/${id}`)),
    'account POST /webhooks/:id/test': of('alters', ownEndpoint, (id) => own('POST', `/webhooks/${id}/test`)),
    'account POST /webhooks/:id/redeliver': of('alters', ownEndpoint, async (id) =>
      own('POST', `/webhooks/${id}/redeliver`, await tested(own, id)),
    ),
    'account PUT /low-balance': ofOwn('alters', () => own('PUT', '/low-balance', { thresholdYuan: '3' })),
    'people DELETE /sessions/:id': {
      effect: 'removes',
      async run() {
        const lin = await person();
        const { body } = await own('GET', '/sessions', undefined, lin);
        const { id } = body.data[0];
        return { response: await own('DELETE', `/sessions/${id}`, undefined, lin), id };
      },
    },
    'people DELETE /sessions': ofPerson('alters', (lin) => own('DELETE', '/sessions', undefined, lin)),
    'people DELETE /sessions with keepThis': ofPerson('alters', async (lin) => {
      await signIn(g, lin);
      return own('DELETE', '/sessions?keepThis=true', undefined, lin);
    }),
    'people PUT /password': ofPerson('alters', (lin) =>
      own('PUT', '/password', { currentPassword: lin.password, password: 'another long password' }, lin),
    ),
    'people PATCH /user': ofPerson('alters', (lin) => own('PATCH', '/user', { name: name('Lin') }, lin)),
    'people POST /links/use': {
      effect: 'makes',
      async run() {
        const made = await admin('POST', '/users', { name: name('Lin') });
        const use = { token: tokenOf(made.body.link), password: 'a long enough password' };
        return { response: await ask(g, 'POST', '/links/use', use), id: made.body.id };
      },
    },
    'people DELETE /identities/:id': {
      effect: 'removes',
      async run() {
        const lin = await person();
        const text = `insert into user_identities (id, user_id, issuer, subject, created_at)
values ('idn_test', $1, 'https://issuer.example', 'lin', now())`;
        await sql(g.database, text, [lin.id]);
        return { response: await own('DELETE', '/identities/idn_test', undefined, lin), id: 'idn_test' };
      },
    },
  };

  /** Further forms of changes with sentences of their own. */
  const variants: Readonly<Record<string, Case>> = {
    'admin PATCH /accounts/:id, a limit': ofAccount((id) =>
      admin('PATCH', `/accounts/${id}`, { dailySpendCapYuan: '5' }),
    ),
    'admin PATCH /accounts/:id, suspended': ofAccount((id) =>
      admin('PATCH', `/accounts/${id}`, { status: 'suspended', statusReason: 'unpaid since May' }),
    ),
    'admin PATCH /accounts/:id, active again': ofAccount(async (id) => {
      await admin('PATCH', `/accounts/${id}`, { status: 'suspended' });
      return admin('PATCH', `/accounts/${id}`, { status: 'active' });
    }),
    'admin POST /accounts/:id/keys, without a name': makes(() => admin('POST', `/accounts/${accountId}/keys`, {})),
    'admin PATCH /users/:id, suspended': of('alters', user, (id) =>
      admin('PATCH', `/users/${id}`, { status: 'suspended' }),
    ),
    'admin POST /users, an auditor': makes(() =>
      admin('POST', '/users', { name: name('Lin'), operatorRole: 'auditor' }),
    ),
    'admin POST /routes/drain, a model of a provider': makes(
      async () => {
        const drained = await admin('POST', '/routes/drain', { provider: 'chatty', model: 'test-chat' });
        await admin('POST', '/routes/resume', { provider: 'chatty', model: 'test-chat' });
        return drained;
      },
      () => 'chatty test-chat',
    ),
    'admin POST /accounts/:id/members, another role': of(
      'alters',
      async () => (await person()).id,
      (userId) => admin('POST', `/accounts/${accountId}/members`, { userId, role: 'owner' }),
    ),
    'admin POST /vouchers, of a plan': makes(() =>
      admin('POST', '/vouchers', { name: name('fair'), count: 2, planId: 'wide' }),
    ),
    'admin POST /accounts/:id/vouchers, of a plan': makes(
      async () => {
        const made = await admin('POST', '/vouchers', { name: name('fair'), count: 1, planId: 'wide' });
        return admin('POST', `/accounts/${await account()}/vouchers`, { code: made.body.codes[0] });
      },
      ({ id }) => id,
    ),
    'admin PUT /accounts/:id/low-balance, as configured': ofAccount(async (id) => {
      await admin('PUT', `/accounts/${id}/low-balance`, { thresholdYuan: '3' });
      return admin('PUT', `/accounts/${id}/low-balance`, { thresholdYuan: null });
    }),
    'account PATCH /webhooks/:id, its notices': of('alters', ownEndpoint, (id) =>
      own('PATCH', `/webhooks/${id}`, { events: ['balance.low'] }),
    ),
    'account POST /invitations, by mail': makes(() =>
      own('POST', '/invitations', { email: 'lin@example.com', role: 'owner' }),
    ),
  };

  function ofPerson(effect: Effect, run: (person: TestPerson) => Promise<Made>): Case {
    return {
      effect,
      async run() {
        const lin = await person();
        return { response: await run(lin), id: lin.id };
      },
    };
  }

  /** Require an unresolved call, a configuration file, or a catalog in the database; test/corrections and test/catalog check their rows. */
  const elsewhere = [
    'admin POST /calls/:id/resolution',
    'admin POST /config/reload',
    'admin POST /catalog/revisions',
    'admin POST /catalog/revisions/:id/rollback',
    'admin POST /catalog/revisions/:id/apply',
    'admin POST /catalog/price-source/read',
    'admin DELETE /catalog/revisions/:id',
  ];

  it('is tested for every change of both APIs, in every form', () => {
    assert.deepEqual([...Object.keys(cases), ...elsewhere].sort(), forms.toSorted());
  });

  const sentences = new Map<string, Bilingual>();

  for (const [form, { effect, run }] of Object.entries({ ...cases, ...variants })) {
    it(`contains the subject before and after: ${form}`, async () => {
      const { response, id } = await run();
      await done(response);
      const [, method, path] = form.split(/,? /);
      const { body } = await admin('GET', '/changes?limit=5');
      const row = body.data.find((each: Made['body']) => each.method === method && each.path.endsWith(path));
      assert.notEqual(row, undefined, JSON.stringify(body.data));
      assert.deepEqual([row.subject.id, row.outcome], [id, 'done'], JSON.stringify(row));
      const shown = (value: object | null): boolean => value !== null && Object.keys(value).length > 0;
      assert.deepEqual(
        [shown(row.before), shown(row.after)],
        [effect === 'alters' || effect === 'removes', effect === 'makes' || effect === 'alters'],
        JSON.stringify(row),
      );
      if (effect === 'alters' && !SHOWS_NO_DIFFERENCE.has(form)) assert.notDeepEqual(row.before, row.after);
      assert.ok(!JSON.stringify(row).includes('secret-path'));
      sentences.set(form, row.sentence);
    });
  }

  it('has the reviewed sentence in both languages', () => {
    assert.equal(sentences.size, Object.keys({ ...cases, ...variants }).length, 'for the tests before in this file');
    for (const [form, sentence] of sentences) assertReviewed(form, sentence);
    assertReviewedAll([...sentences.keys(), ...NOTIFIED_ELSEWHERE]);
  });

  it('is not repeated: the result of a voucher, top-up or refund is recorded once', async () => {
    const { id } = (await done(await admin('POST', '/accounts', { name: name('Acme') }))).body;
    const [code] = (await batch()).body.codes;
    const callId = await chargedCall();
    const changes: readonly (() => Promise<Made>)[] = [
      () => admin('POST', `/accounts/${id}/vouchers`, { code }),
      () => admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '1' }, { 'idempotency-key': `top-up-${id}` }),
      () => admin('POST', `/accounts/${id}/subscriptions`, { planId: 'wide' }, { 'idempotency-key': `plan-${id}` }),
      () => admin('POST', `/calls/${callId}/refunds`, {}, { 'idempotency-key': `refund-${id}` }),
      () => admin('POST', '/accounts', { name: 'Acme' }, { 'idempotency-key': `account-${id}` }),
      () => admin('POST', '/webhooks', { url: 'https://hooks.example.com/y' }, { 'idempotency-key': `hook-${id}` }),
    ];
    for (const change of changes) {
      const first = await done(await change());
      const rows = (await admin('GET', '/changes?limit=3')).body;
      assert.deepEqual((await done(await change())).body, first.body);
      assert.deepEqual((await admin('GET', '/changes?limit=3')).body, rows);
    }
  });

  it('contains the memo of ledger entries', async () => {
    const id = await account();
    await done(await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '0.001072', memo: 'cash' }));
    const [topUp] = (await admin('GET', `/changes?subjectId=${id}&limit=1`)).body.data;
    assert.match(topUp.sentence.en, /^added ¥0\.001072 to account “Acme \d+”: cash$/);
    const callId = await chargedCall();
    await done(await admin('POST', `/calls/${callId}/refunds`, { amountYuan: '0.0000001', memo: 'by courtesy' }));
    const [refund] = (await admin('GET', `/changes?subjectId=${callId}`)).body.data;
    assert.equal(
      refund.sentence.en,
      `refunded ¥0.0000001 of call ${callId} (test-chat) of account “tester”: by courtesy`,
    );
    assert.equal(refund.sentence.zh, `退还账户“tester”的调用 ${callId}（test-chat）的扣费 ¥0.0000001：by courtesy`);
  });

  it('shows the single network added to a long list', async () => {
    const allowedNetworks = Array.from({ length: 99 }, (_, n) => `10.0.${n}.0/24`);
    const { id } = (await done(await admin('POST', `/accounts/${accountId}/keys`, { allowedNetworks }))).body;
    await done(await own('PATCH', `/keys/${id}`, { allowedNetworks: [...allowedNetworks, '0.0.0.0/0'] }));
    const [row] = (await admin('GET', `/changes?subjectId=${id}`)).body.data;
    assert.deepEqual(
      [row.before.allowedNetworks, row.after.allowedNetworks],
      [['… 99 unchanged'], ['0.0.0.0/0', '… 99 unchanged']],
    );
  });
});
