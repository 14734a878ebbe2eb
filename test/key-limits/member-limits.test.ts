import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { budgetId, budgetIdsOf, ownersWithBudgets } from '../../src/accounting/accounts/budget-ids.ts';
import {
  createKeyLimitStore,
  createMemberLimitStore,
  type KeyLimitChange,
} from '../../src/accounting/accounts/key-limit-store.ts';
import type { ModelBudget } from '../../src/accounting/accounts/key-limit-tables.ts';
import { createKeyReplacementStore } from '../../src/accounting/accounts/key-replacement-store.ts';
import { createLimitedKeyStore } from '../../src/accounting/accounts/limited-key-store.ts';
import { createModelBudgetStore, NO_BUDGET } from '../../src/accounting/accounts/model-budget-store.ts';
import { createKeyStatusStore } from '../../src/accounting/accounts/status-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createResolutionStore } from '../../src/accounting/corrections/resolution-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import type { ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import { createMembershipStore, type KeysOfRemoved } from '../../src/people/membership-store.ts';
import { createUserStore } from '../../src/people/user-store.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  createTestNode,
  openAccount,
  outcomeOf,
  periodsAt,
  periodsOf,
  recordOf,
  requestOf,
  timeAt,
  timeOf,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { waitingForLocks } from '../support/locks.ts';
import { isQuickRun, propertyRuns } from '../support/scope.ts';
import { type KeyVerdict, ReferenceKey } from './reference.ts';
import { readStoredUses } from './stored-uses.ts';

const DAYS = ['2026-02-27', '2026-02-28', '2026-03-01', '2026-12-31', '2027-01-01'];
const NOW = new Date('2026-11-20T04:00:00Z');
const WIDE = planOf({ id: 'wide', fiveHourCalls: 1_000_000, weeklyCalls: 1_000_000, concurrency: 1_000_000 });
const contextAt = (atMs: number) => ({ ...CONTEXT, ...periodsAt(atMs), plans: new Map([[WIDE.id, WIDE]]) });
const noonOf = (day: string): number => Date.parse(`${day}T12:00+08:00`);
/** Just after midnight of a day, or just before it: the clock went back by less than a minute. */
const instantOf = (day: string, isBack: boolean): number =>
  Date.parse(`${day}T00:00+08:00`) + (isBack ? -20_000 : 20_000);

/** The name of a refusal by a key's limits when the member's limits refuse instead. */
const ofMember = (verdict: KeyVerdict): string => verdict.replace(/^key/, 'member');

const MODELS = ['test', 'other'] as const;

/** The budgets of a key or a person for each model. */
type ModelBudgets = Readonly<Record<(typeof MODELS)[number], ReferenceKey>>;
const noBudgets = (): ModelBudgets => ({ test: new ReferenceKey(), other: new ReferenceKey() });

interface ModelKey {
  readonly id: string;
  readonly budgets: ModelBudgets;
  /** The number of the person whose key it is. */
  person: number;
  readonly reference: ReferenceKey;
  isEnded: boolean;
}

interface ModelPerson {
  readonly id: string;
  readonly budgets: ModelBudgets;
  readonly reference: ReferenceKey;
}

/** Which limits count a call is decided when it is admitted. */
interface ModelCall {
  readonly request: ReservationRequest;
  readonly counting: readonly ReferenceKey[];
}

const isLimited = ({ limits }: ReferenceKey): boolean => Object.values(limits).some((limit) => limit !== null);

const limit = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null | undefined> =>
  fc.oneof({ weight: 3, arbitrary: value }, fc.constant(null), fc.constant(undefined));

/** Narrow enough that members' limits refuse calls that the keys' limits allow. */
const change: fc.Arbitrary<KeyLimitChange> = fc.record({
  dailySpendCapNano: limit(fc.bigInt(0n, 60n)),
  weeklySpendCapNano: limit(fc.bigInt(0n, 80n)),
  monthlySpendCapNano: limit(fc.bigInt(0n, 80n)),
  totalSpendCapNano: limit(fc.bigInt(0n, 150n)),
  dailyCallsMax: limit(fc.nat(9)),
  concurrencyMax: limit(fc.nat(6)),
});

const budget: fc.Arbitrary<Partial<ModelBudget>> = fc.record({
  dailySpendCapNano: limit(fc.bigInt(0n, 30n)),
  weeklySpendCapNano: limit(fc.bigInt(0n, 40n)),
  monthlySpendCapNano: limit(fc.bigInt(0n, 40n)),
  totalSpendCapNano: limit(fc.bigInt(0n, 80n)),
}) as fc.Arbitrary<Partial<ModelBudget>>;

/** Keys and people are numbers modulo how many there are. */
type Step =
  | {
      readonly kind: 'calls';
      readonly isBack: boolean;
      readonly calls: readonly { key: number; model: (typeof MODELS)[number]; amountNano: bigint | null }[];
    }
  | {
      readonly kind: 'end';
      readonly isBack: boolean;
      readonly ends: readonly { which: number; counts: boolean; chargeNano: bigint; isRepeated: boolean }[];
    }
  | { readonly kind: 'release'; readonly which: number }
  | { readonly kind: 'next day' }
  | { readonly kind: 'limit person'; readonly person: number; readonly change: KeyLimitChange }
  | {
      readonly kind: 'budget';
      readonly of: 'key' | 'person';
      readonly owner: number;
      readonly model: (typeof MODELS)[number];
      readonly caps: Partial<ModelBudget>;
    }
  | { readonly kind: 'limit key'; readonly key: number; readonly change: KeyLimitChange }
  | { readonly kind: 'replace'; readonly key: number }
  | {
      readonly kind: 'remove';
      readonly person: number;
      readonly keys: 'kept' | 'revoked' | 'handed';
      readonly heir: number;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      isBack: fc.boolean(),
      calls: fc.array(
        fc.record({
          key: fc.nat(20),
          model: fc.constantFrom(...MODELS),
          amountNano: fc.oneof({ weight: 3, arbitrary: fc.bigInt(0n, 15n) }, fc.constant(null)),
        }),
        { minLength: 1, maxLength: 10 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      isBack: fc.boolean(),
      ends: fc.array(
        fc.record({
          which: fc.nat(20),
          counts: fc.boolean(),
          chargeNano: fc.bigInt(0n, 20n),
          isRepeated: fc.boolean(),
        }),
        { minLength: 1, maxLength: 6 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('next day' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('limit person' as const), person: fc.nat(2), change }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('limit key' as const), key: fc.nat(20), change }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('budget' as const),
      of: fc.constantFrom('key' as const, 'person' as const),
      owner: fc.nat(20),
      model: fc.constantFrom(...MODELS),
      caps: budget,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('replace' as const), key: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('remove' as const),
      person: fc.nat(2),
      keys: fc.constantFrom('kept' as const, 'revoked' as const, 'handed' as const),
      heir: fc.nat(2),
    }),
  },
);

describe(`the limits of keys and members`, { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let second: Database;
  let database: Database;
  let nodes: readonly ReturnType<typeof createTestNode>['stores'][];
  let runs = 0;
  let made = 0;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    second = stored.openAnother();
    nodes = [waitingForLocks(database), waitingForLocks(second)].map((each) => createTestNode(each).stores);
  });
  after(async () => {
    try {
      assert.deepEqual(await nodes[0]!.reservations.listOfDeadNodes('nobody', 0, 1_000), []);
      const results = await auditLedger(inOneDatabase(database));
      assert.deepEqual(
        results.flatMap(({ breaches }) => breaches),
        [],
      );
    } finally {
      if (second !== database) await second.close();
      await stored.remove();
    }
  });

  const hashOf = (keyId: string): Buffer => Buffer.from(keyId);

  async function insertKey(accountId: string, id: string, userId: string): Promise<void> {
    const key = {
      accountId,
      id,
      name: 'test',
      keyHash: hashOf(id),
      prefix: 'sk-fg-…',
      expiresAt: null,
      userId,
      at: NOW,
    };
    await createAccountStore(database).insertKey(key);
  }

  async function join(accountId: string, userId: string): Promise<void> {
    await createMembershipStore(database).add({ accountId, userId, role: 'member', at: NOW });
  }

  /** An account with enough money and a plan, and three people. */
  async function createPeople(): Promise<{ accountId: string; people: ModelPerson[] }> {
    const accountId = `acct_members_${++runs}`;
    await openAccount(database, accountId, 1_000_000n);
    await createSubscriptionStore(database).grant({
      accountId,
      id: `sub_${accountId}`,
      planId: WIDE.id,
      startsAt: new Date('2026-01-01T00:00Z'),
      endsAt: new Date('2027-12-31T00:00Z'),
      at: NOW,
    });
    const people = [0, 1, 2].map((n) => ({
      id: `usr_${accountId}_${n}`,
      reference: new ReferenceKey(),
      budgets: noBudgets(),
    }));
    for (const { id } of people) {
      const user = { id, email: null, name: id, passwordHash: null, operatorRole: null, memberships: [], at: NOW };
      assert.equal(await createUserStore(database).insert(user), null);
      await join(accountId, id);
    }
    return { accountId, people };
  }

  /** Calls by what authentication says of their keys; `null`: the key is refused. */
  async function requestsBy(
    accountId: string,
    asked: readonly { readonly keyId: string; readonly model: string; readonly amountNano: bigint | null }[],
  ): Promise<(ReservationRequest | null)[]> {
    const statuses = await createKeyStatusStore(database).findStatuses(asked.map(({ keyId }) => hashOf(keyId)));
    const limitations = await createLimitedKeyStore(database).find(statuses.map((status) => status!));
    return asked.map(({ keyId, model, amountNano }, i) => {
      const { isRevoked, userId } = statuses[i]!;
      if (isRevoked) return null;
      const { isKeyLimited, memberId, keyBudgets, memberBudgets } = limitations[i]!;
      const owners = ownersWithBudgets(
        keyBudgets && { ownerId: keyId, models: new Set(keyBudgets) },
        memberBudgets && { ownerId: userId!, models: new Set(memberBudgets) },
      );
      const hasBudgets = owners !== null && amountNano !== null;
      const budgetIds = hasBudgets ? budgetIdsOf(owners, { id: model, aliases: [] }) : null;
      const plan = amountNano === null ? { inputBytes: 1, outputTokensRequested: 0, tokens: 0, innerModels: [] } : null;
      return requestOf(accountId, `call_${++made}`, amountNano, {
        keyId,
        model,
        isKeyLimited,
        memberId,
        budgetIds,
        plan,
      });
    });
  }

  function endOf(
    { accountId, callId, keyId, model, isKeyLimited, memberId, budgetIds }: ReservationRequest,
    counts: boolean,
    chargeNano: bigint,
  ): SettlementRecord {
    const owners = { ...(memberId !== null && { memberId }), ...(budgetIds !== null && { budgetIds }) };
    const isCounted = isKeyLimited || Object.keys(owners).length > 0;
    return recordOf(
      { ...outcomeOf(accountId, callId, chargeNano), keyId, model },
      { key: isCounted ? { counts, chargeNano, ...owners } : null, plan: { counts, tokens: 0 } },
    );
  }

  /** What is stored of each owner of limits of an account. */
  const readUses = (accountId: string) =>
    readStoredUses(database, { name: 'test.owner-uses', text: 'select * from key_limits where account_id = $1' }, [
      accountId,
    ]);

  it('admit what key and member limits of a model admit, after any removal of members and replacement of keys', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 2, maxLength: 2 }),
        fc.array(change, { minLength: 2, maxLength: 2 }),
        fc.array(step, { minLength: 5, maxLength: 30 }),
        async (personLimits, keyLimits, steps) => {
          const { accountId, people } = await createPeople();
          const present = new Set([0, 1, 2]);
          const keys: ModelKey[] = [];
          const addKey = (person: number, reference: ReferenceKey, budgets = noBudgets()): ModelKey => {
            const key = { id: `key_${accountId}_${keys.length}`, person, reference, budgets, isEnded: false };
            keys.push(key);
            return key;
          };
          for (const person of [0, 0, 1, 1, 2])
            await insertKey(accountId, addKey(person, new ReferenceKey()).id, people[person]!.id);
          let inFlight: ModelCall[] = [];
          let day = 1;

          async function limitPerson(person: number, wanted: KeyLimitChange): Promise<void> {
            const { id, reference } = people[person]!;
            reference.change(wanted);
            const changed = await createMemberLimitStore(database).change(accountId, id, wanted);
            assert.deepEqual(changed, { ...reference.limits, allowedModels: null });
          }
          for (const [person, wanted] of personLimits.entries()) await limitPerson(person, wanted);

          async function limitKey({ id, reference }: ModelKey, wanted: KeyLimitChange): Promise<void> {
            const store = createKeyLimitStore(database);
            reference.change(wanted);
            assert.deepEqual(await store.change(accountId, id, wanted), reference.limits);
            assert.deepEqual((await store.find(accountId, [id, 'key_other'])).get(id), reference.limits);
          }
          async function limitModel(
            { id, budgets }: ModelKey | ModelPerson,
            model: (typeof MODELS)[number],
            caps: Partial<ModelBudget>,
          ): Promise<void> {
            budgets[model].change(caps);
            const changes = [{ model: { id: model, aliases: [] }, caps }];
            await createMemberLimitStore(database).change(accountId, id, {}, changes);
            const { dailyCallsMax: _calls, concurrencyMax: _concurrency, ...expected } = budgets[model].limits;
            const found = await createModelBudgetStore(database).find([{ accountId, ownerId: id }]);
            assert.deepEqual(found.get(id)?.get(model) ?? NO_BUDGET, expected);
          }
          // One of a person with limits, and one of a person without any.
          await limitKey(keys[1]!, keyLimits[0]!);
          await limitKey(keys[4]!, keyLimits[1]!);

          function admitInModel(
            request: ReservationRequest,
            key: ModelKey,
            today: string,
          ): { verdict: string; counting: ReferenceKey[] } {
            const person = people[key.person]!;
            const model = request.model as (typeof MODELS)[number];
            const ofModel = [
              { reference: key.budgets[model], isOfMember: false },
              { reference: person.budgets[model], isOfMember: true },
            ];
            const counting: ReferenceKey[] = [];
            for (const { reference, isOfMember } of [
              { reference: key.reference, isOfMember: false },
              { reference: person.reference, isOfMember: true },
              // Calls on a plan cost nothing.
              ...(request.amountNano === null ? [] : ofModel),
            ]) {
              if (!isLimited(reference)) continue;
              const refusal = reference.refusal(request, today);
              if (refusal !== null) return { verdict: isOfMember ? ofMember(refusal) : refusal, counting: [] };
              counting.push(reference);
            }
            for (const reference of counting) assert.equal(reference.admit(request, today), 'admitted');
            return { verdict: 'admitted', counting };
          }

          for (const [index, taken] of steps.entries()) {
            const node = nodes[index % nodes.length]!;
            const atMs = instantOf(DAYS[day]!, 'isBack' in taken && taken.isBack);
            const { today } = periodsAt(atMs);
            const time = timeAt(atMs);
            switch (taken.kind) {
              case 'calls': {
                const tried = taken.calls.map(({ key, model, amountNano }) => ({
                  key: keys[key % keys.length]!,
                  // The plan includes one of the models.
                  model: amountNano === null ? MODELS[0] : model,
                  amountNano,
                }));
                const found = await requestsBy(
                  accountId,
                  tried.map(({ key, model, amountNano }) => ({ keyId: key.id, model, amountNano })),
                );
                const asked = tried.flatMap(({ key }, i) => {
                  const request = found[i]!;
                  assert.equal(request === null, key.isEnded);
                  return request === null ? [] : [{ request, key }];
                });
                const requests = asked.map(({ request }) => request);
                const verdicts = await verdictsOn(node.reservations, requests, contextAt(atMs));
                const expected = asked.map(({ request, key }) => ({
                  request,
                  ...admitInModel(request, key, today),
                }));
                assert.deepEqual(
                  verdicts,
                  expected.map(({ verdict }) => verdict),
                  `step ${index}`,
                );
                inFlight.push(...expected.filter(({ verdict }) => verdict === 'admitted'));
                for (const verdict of verdicts) seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
                break;
              }
              case 'end': {
                const records: SettlementRecord[] = [];
                for (const { which, counts, chargeNano, isRepeated } of taken.ends) {
                  const call = inFlight[which % Math.max(inFlight.length, 1)];
                  if (call === undefined) continue;
                  inFlight = inFlight.filter((other) => other !== call);
                  const charged = counts ? chargeNano : 0n;
                  const record = endOf(call.request, counts, charged);
                  records.push(record, ...(isRepeated ? [record] : []));
                  const outcome = { callId: call.request.callId, counts, chargeNano: charged };
                  for (const reference of call.counting) reference.end(outcome, today);
                }
                await node.settlement.end(records, time);
                // A node that never got the reply stores the end again, perhaps on another day.
                await node.settlement.end(records, timeAt(instantOf(DAYS[day]!, false)));
                break;
              }
              case 'release': {
                const [call] = inFlight.splice(taken.which % Math.max(inFlight.length, 1), 1);
                if (call === undefined) break;
                await node.reservations.release([call.request], time);
                const outcome = { callId: call.request.callId, counts: false, chargeNano: 0n };
                for (const reference of call.counting) reference.end(outcome, today);
                break;
              }
              case 'next day':
                day = Math.min(day + 1, DAYS.length - 1);
                break;
              case 'limit person':
                await limitPerson(taken.person, taken.change);
                break;
              case 'budget': {
                const owners = taken.of === 'key' ? keys.filter(({ isEnded }) => !isEnded) : people;
                await limitModel(owners[taken.owner % owners.length]!, taken.model, taken.caps);
                break;
              }
              case 'limit key': {
                const key = keys[taken.key % keys.length]!;
                if (!key.isEnded) await limitKey(key, taken.change);
                break;
              }
              case 'replace': {
                const old = keys[taken.key % keys.length]!;
                if (old.isEnded) break;
                const budgets = { test: old.budgets.test.replacement(), other: old.budgets.other.replacement() };
                const next = addKey(old.person, old.reference.replacement(), budgets);
                const made = { accountId, keyId: old.id, id: next.id, keyHash: hashOf(next.id), prefix: 'sk-fg-…' };
                const replacement = { ...made, expiresAt: null, keepOldMs: 0, at: NOW };
                const replacements = createKeyReplacementStore(placedInOne(inOneDatabase(database)));
                assert.ok((await replacements.replace(replacement)) !== null);
                old.isEnded = true;
                break;
              }
              case 'remove': {
                const { person, heir } = taken;
                // A person who had left comes back, and the usage continues.
                if (!present.has(person)) {
                  await join(accountId, people[person]!.id);
                  present.add(person);
                  break;
                }
                const handed: KeysOfRemoved = { handedTo: people[heir]!.id };
                const keysOf: KeysOfRemoved = taken.keys === 'handed' ? handed : taken.keys;
                const refusal = await createMembershipStore(database).remove(
                  accountId,
                  people[person]!.id,
                  false,
                  NOW,
                  keysOf,
                );
                const hasHeir = taken.keys !== 'handed' || (heir !== person && present.has(heir));
                assert.equal(refusal, hasHeir ? null : 'no_heir');
                if (!hasHeir) break;
                present.delete(person);
                for (const key of keys.filter((each) => each.person === person && !each.isEnded)) {
                  if (taken.keys === 'revoked') key.isEnded = true;
                  if (taken.keys === 'handed') key.person = heir;
                }
                break;
              }
            }
            const uses = await readUses(accountId);
            for (const { id, budgets } of [...people, ...keys]) {
              for (const model of MODELS) {
                const use = uses.get(budgetId(id, model)) ?? null;
                // Budgets for models do not limit numbers of calls.
                const expected = { ...budgets[model].use(), calls: 0, inFlight: 0 };
                if (use !== null || isLimited(budgets[model]))
                  assert.deepEqual(use, expected, `${id} for ${model} after step ${index}`);
              }
            }
            for (const { id, reference } of [...people, ...keys]) {
              const use = uses.get(id) ?? null;
              if (use !== null || isLimited(reference))
                assert.deepEqual(use, reference.use(), `${id} after step ${index}`);
            }
          }
          await nodes[0]!.reservations.release(
            inFlight.map(({ request }) => request),
            timeOf(DAYS[day]!),
          );
        },
      ),
      { numRuns: propertyRuns(60) },
    );
    // The few runs of a quick run do not reach everything.
    if (isQuickRun) return;
    for (const verdict of [
      'admitted',
      'keyTotalSpendLimitReached',
      'keyMonthlySpendLimitReached',
      'keyWeeklySpendLimitReached',
      'keySpendLimitReached',
      'keyCallsLimitReached',
      'keyConcurrencyLimited',
      'memberTotalSpendLimitReached',
      'memberMonthlySpendLimitReached',
      'memberWeeklySpendLimitReached',
      'memberSpendLimitReached',
      'memberCallsLimitReached',
      'memberConcurrencyLimited',
    ]) {
      assert.ok((seen.get(verdict) ?? 0) > 5, `${verdict} was hardly ever the response`);
    }
  });

  it('count the charge of a call that ends, or is resolved, after its node was considered dead', async () => {
    const { accountId, people } = await createPeople();
    const keyIds = people.map((_, n) => `key_${accountId}_${n}`);
    const [keyId, ofNobody] = keyIds as [string, string];
    for (const [n, { id }] of people.entries()) await insertKey(accountId, keyIds[n]!, id);
    await createMemberLimitStore(database).change(accountId, people[0]!.id, { totalSpendCapNano: 100n });
    await createKeyLimitStore(database).change(accountId, keyId, { totalSpendCapNano: 100n });
    const [{ reservations, settlement }] = nodes as [(typeof nodes)[number]];
    const today = '2026-12-31';
    const died = await requestsBy(
      accountId,
      [keyId, keyId, ofNobody].map((id) => ({ keyId: id, model: 'test', amountNano: 50n })),
    );
    const [late, byHand, free] = died as [ReservationRequest, ReservationRequest, ReservationRequest];
    for (const request of [late, byHand, free]) {
      assert.deepEqual(await verdictsOn(reservations, [request], contextAt(noonOf(DAYS[0]!))), ['admitted']);
      await settlement.resolve([request], timeOf(DAYS[0]!));
    }
    const record = endOf(late, true, 40n);
    await settlement.end([record, record], timeOf(today));
    await settlement.end([record], timeOf(today));
    for (const { callId } of [byHand, free]) {
      const request = {
        callId,
        resolution: { action: 'charge', chargeNano: 40n },
        by: null,
        via: 'command_line',
        memo: null,
        idempotencyKey: null,
        periods: periodsOf(today),
      } as const;
      for (const again of ['resolved', 'repeated']) {
        assert.equal((await createResolutionStore(database).resolve(request)).outcome, again);
      }
    }
    const spent = { spentNano: 80n, weekSpentNano: 80n, monthSpentNano: 80n, totalSpentNano: 80n };
    const used = { ...spent, reservedNano: 0n, calls: 0, inFlight: 0 };
    assert.deepEqual(Object.fromEntries(await readUses(accountId)), { [people[0]!.id]: used, [keyId]: used });
  });
});
