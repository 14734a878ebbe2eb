import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createRevisionStore, type RevisionStore, SCHEDULED_MAX } from '../../src/config/revisions/revisions-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { propertyRuns } from '../support/scope.ts';
import { sql } from '../support/sql.ts';

const HOUR_MS = 3_600_000;
const PEOPLE = ['lin', 'wang'] as const;
type Person = (typeof PEOPLE)[number];

interface Kept {
  readonly number: number;
  readonly text: string;
  readonly base: number | null;
  readonly by: Person;
  /** Hours from the beginning; 0: at once; `null`: a draft. */
  hour: number | null;
  isCanceled: boolean;
}

/** The revisions in memory, and the last one that each person has seen. */
class Model {
  readonly revisions: Kept[] = [];
  readonly seen: Record<Person, number | null> = { lin: null, wang: null };

  get last(): Kept | null {
    return this.revisions.findLast(({ isCanceled, hour }) => !isCanceled && hour !== null) ?? null;
  }

  get current(): Kept | null {
    return this.revisions.findLast(({ isCanceled, hour }) => !isCanceled && hour === 0) ?? null;
  }

  get scheduled(): Kept[] {
    return this.revisions.filter(({ isCanceled, hour }) => !isCanceled && (hour ?? 0) > 0);
  }

  draft(number: number): Kept | null {
    return this.revisions.find((each) => each.number === number && each.hour === null && !each.isCanceled) ?? null;
  }

  /** Why a revision is refused; `null`: it is not. */
  conflict(base: number | null, hour: number): 'outdated' | 'scheduled' | null {
    if ((this.last?.number ?? null) !== base) return 'outdated';
    return (this.last?.hour ?? 0) > hour ? 'scheduled' : null;
  }
}

interface Real {
  readonly store: RevisionStore;
  readonly beganMs: number;
}

type Step = fc.AsyncCommand<Model, Real>;

const instantOf = (beganMs: number, hour: number): number | null => (hour === 0 ? null : beganMs + hour * HOUR_MS);

/** Inserts a revision, as a push or a rollback does. */
async function insert(
  model: Model,
  { store, beganMs }: Real,
  revision: Omit<Kept, 'number' | 'isCanceled' | 'hour'> & { readonly hour: number },
  source: 'push' | 'rollback',
) {
  const { text, base, by, hour } = revision;
  const inForceAtMs = instantOf(beganMs, hour);
  const inserted = await store.insert({ text, source, base, reason: null, createdBy: by, inForceAtMs });
  const conflict = model.conflict(base, hour);
  assert.equal('conflict' in inserted ? inserted.conflict : null, conflict);
  if ('conflict' in inserted) {
    assert.equal(inserted.other?.number ?? null, model.last?.number ?? null);
  } else {
    assert.equal(inserted.number, model.revisions.length + 1);
    model.revisions.push({ ...revision, number: inserted.number, isCanceled: false });
    model.seen[by] = inserted.number;
  }
}

async function assertEqual(model: Model, { store }: Real): Promise<void> {
  const { current, scheduled } = await store.latest();
  const ofAll = (revisions: readonly { readonly number: number }[]) => revisions.map(({ number }) => number);
  const last = await store.last();
  const of = (revision: { readonly number: number; readonly text: string } | null) =>
    revision && [revision.number, revision.text];
  assert.deepEqual([of(current), of(last)], [of(model.current), of(model.last)]);
  assert.deepEqual(ofAll(scheduled), ofAll(model.scheduled.slice(0, SCHEDULED_MAX)));
  const listed = await store.list(null, 1_000);
  assert.deepEqual(
    listed.map(({ number, base, createdBy, canceledAtMs }) => [number, base, createdBy, canceledAtMs !== null]),
    model.revisions.toReversed().map(({ number, base, by, isCanceled }) => [number, base, by, isCanceled]),
  );
}

const step = (run: (model: Model, real: Real) => Promise<void>, name: string): Step => ({
  check: () => true,
  async run(model, real) {
    await run(model, real);
    await assertEqual(model, real);
  },
  toString: () => name,
});

const person = fc.constantFrom(...PEOPLE);
const hours = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
);

const steps = [
  fc
    .record({ by: person, text: fc.integer({ min: 1, max: 9 }), hour: hours })
    .map(({ by, text, hour }) =>
      step(
        (model, real) => insert(model, real, { text: `# ${text}`, base: model.seen[by], by, hour }, 'push'),
        `${by} pushes ${text} at hour ${hour}`,
      ),
    ),
  person.map((by) =>
    step(async (model) => {
      model.seen[by] = model.last?.number ?? null;
    }, `${by} reads the catalog`),
  ),
  fc.record({ by: person, number: fc.integer({ min: 1, max: 12 }) }).map(({ by, number }) =>
    step(async (model, { store }) => {
      const canceled = await store.cancel(number, by);
      const { last } = model;
      const isLastScheduled = last?.number === number && (last.hour ?? 0) > 0;
      assert.equal(canceled?.number ?? null, isLastScheduled ? number : null);
      if (isLastScheduled) last.isCanceled = true;
    }, `${by} cancels ${number}`),
  ),
  fc.record({ by: person, text: fc.integer({ min: 1, max: 9 }) }).map(({ by, text }) =>
    step(async (model, { store }) => {
      const revision = { text: `# ${text}`, base: model.seen[by] };
      const { draft } = await store.insertDraft({ ...revision, source: 'push', reason: null, createdBy: by });
      assert.equal(draft.number, model.revisions.length + 1);
      model.revisions.push({ ...revision, number: draft.number, by, hour: null, isCanceled: false });
    }, `${by} saves the draft ${text}`),
  ),
  fc.record({ by: person, number: fc.integer({ min: 1, max: 12 }), hour: hours }).map(({ by, number, hour }) =>
    step(async (model, { store, beganMs }) => {
      const applied = await store.apply(number, by, instantOf(beganMs, hour));
      const draft = model.draft(number);
      if (draft === null) return assert.equal(applied, null);
      const conflict = model.conflict(draft.base, hour);
      assert.equal(applied !== null && 'conflict' in applied ? applied.conflict : null, conflict);
      if (conflict === null) draft.hour = hour;
    }, `${by} applies the draft ${number} at hour ${hour}`),
  ),
  fc.record({ by: person, number: fc.integer({ min: 1, max: 12 }) }).map(({ by, number }) =>
    step(async (model, { store }) => {
      const discarded = await store.discard(number, by);
      const draft = model.draft(number);
      assert.equal(discarded?.number ?? null, draft?.number ?? null);
      if (draft !== null) draft.isCanceled = true;
    }, `${by} discards the draft ${number}`),
  ),
  fc.record({ by: person, number: fc.integer({ min: 1, max: 12 }) }).map(({ by, number }) =>
    step(async (model, real) => {
      const earlier = await real.store.find(number);
      assert.equal(earlier?.text, model.revisions[number - 1]?.text);
      if (earlier === null) return;
      const base = model.last?.number ?? null;
      await insert(model, real, { text: earlier.text, base, by, hour: 0 }, 'rollback');
    }, `${by} rolls back to ${number}`),
  ),
];

describe('revisions of the catalog by two people', { timeout: 180_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  it('are what a model in memory says, in every order of pushes, drafts, schedules, cancellations and rollbacks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 25 }), async (commands) => {
        await sql(stored.database, 'truncate catalog_revisions');
        const store = createRevisionStore(stored.database, { leadMs: 0 });
        await fc.asyncModelRun(() => ({ model: new Model(), real: { store, beganMs: Date.now() } }), commands);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('keep one of several that are pushed at the same time', async () => {
    await sql(stored.database, 'truncate catalog_revisions');
    const store = createRevisionStore(stored.database, { leadMs: 0 });
    const inserted = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        store.insert({ text: `# ${n}`, source: 'push', base: null, reason: null, createdBy: 'lin', inForceAtMs: null }),
      ),
    );
    assert.equal(inserted.filter((each) => !('conflict' in each)).length, 1);
    assert.equal((await store.list(null, 10)).length, 1);
  });

  it('are not those that nodes record of their files', async () => {
    await sql(stored.database, 'truncate catalog_revisions');
    const store = createRevisionStore(stored.database, { leadMs: 0 });
    assert.equal((await store.record({ text: '# 1', createdBy: 'node_1' }))?.number, 1);
    assert.equal(await store.record({ text: '# 1', createdBy: 'node_2' }), null);
    assert.deepEqual([(await store.latest()).current, await store.last()], [null, null]);
    const pushed = await store.insert({
      text: '# 2',
      source: 'push',
      base: null,
      reason: null,
      createdBy: 'lin',
      inForceAtMs: null,
    });
    assert.ok(!('conflict' in pushed) && pushed.number === 2);
    const recorded = await store.record({ text: '# 3', createdBy: 'node_1' });
    assert.deepEqual([recorded?.number, recorded?.base], [3, 1]);
    assert.equal((await store.latest()).current?.number, 2);
    assert.equal(await store.cancel(3, 'lin'), null);
  });
});
