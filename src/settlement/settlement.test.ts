import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import type { CallOutcome, EndedCall } from '../billing/call-outcome.ts';
import { ClaimLostError } from '../idempotency/kept-answers.ts';
import type { AnsweredClaim } from '../idempotency/store.ts';
import type { EndedLimitedCall } from '../key-limits/store.ts';
import { systemClock } from '../lib/clock.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import type { EndedCodingCall } from '../plans/coding-call.ts';
import { type Disk, type DiskFile, nodeDisk } from './disk.ts';
import { type CallEnding, encodeEnding } from './ending.ts';
import { type Journal, openJournal } from './journal.ts';
import { createSettlement, noSettlement, type Settlement, type SettlementOptions } from './settlement.ts';

const dataFault = new Error('a value is bad');
const connectionLost = new Error('the connection was lost');

const PARTS = ['kept', 'made', 'money', 'plan', 'key'] as const;
type Part = (typeof PARTS)[number];

/** What goes wrong with one try: before it was carried out, or after it was, so that only the answer is lost. */
interface Fault {
  readonly error: Error;
  readonly when: 'before' | 'after';
}

const lost = (when: Fault['when'] = 'before'): Fault => ({ error: connectionLost, when });

/** A part of the end of a call, as the books took it. */
type Arrived =
  | { readonly part: 'kept'; readonly callId: string }
  | { readonly part: 'made'; readonly callId: string; readonly keys: readonly string[] }
  | { readonly part: 'money'; readonly callId: string; readonly status: string; readonly chargeNano: bigint | null }
  | { readonly part: 'plan'; readonly callId: string; readonly counts: boolean; readonly tokens: number }
  | { readonly part: 'key'; readonly callId: string; readonly counts: boolean; readonly chargeNano: bigint };

/** Books that do as a test says, note what arrives, and take it once for a call, as the real ones do. */
function createBooks() {
  /** What was carried out, in order. */
  const arrived: Arrived[] = [];
  /** How often each part was asked for. */
  const asked: Record<Part, number> = { kept: 0, made: 0, money: 0, plan: 0, key: 0 };
  /** The next tries of a part; `null` is one that succeeds, and so are all behind the last. */
  const faults: Record<Part, (Fault | null)[]> = { kept: [], made: [], money: [], plan: [], key: [] };
  /** From now on every try of every part fails. */
  const state = { isAway: false };
  const gates: Partial<Record<Part, PromiseWithResolvers<void>>> = {};
  const charges = new Map<string, bigint>();
  const ended = new Set<string>();

  async function run(part: Part, carryOut: () => void): Promise<void> {
    asked[part]++;
    await gates[part]?.promise;
    if (state.isAway) throw connectionLost;
    const fault = faults[part].shift() ?? null;
    if (fault?.when === 'before') throw fault.error;
    carryOut();
    if (fault?.when === 'after') throw fault.error;
  }

  const books: Pick<SettlementOptions, 'billing' | 'plans' | 'keys' | 'keptAnswers' | 'affinities'> = {
    billing: {
      async end({ callId, status, chargeNano }: CallOutcome): Promise<EndedCall> {
        const isFirst = !ended.has(callId);
        await run('money', () => {
          arrived.push({ part: 'money', callId, status, chargeNano });
          if (chargeNano !== null && !charges.has(callId)) charges.set(callId, chargeNano);
          ended.add(callId);
        });
        return { availableNano: isFirst ? 1_000n : null };
      },
    },
    plans: {
      end: ({ callId, counts, tokens }: EndedCodingCall) =>
        run('plan', () => arrived.push({ part: 'plan', callId, counts, tokens })),
    },
    keys: {
      end: ({ callId, counts, chargeNano }: EndedLimitedCall) =>
        run('key', () => arrived.push({ part: 'key', callId, counts, chargeNano })),
    },
    affinities: {
      // Its model stands for the call.
      record: (_accountId, keys, { model: callId }) => run('made', () => arrived.push({ part: 'made', callId, keys })),
    },
    keptAnswers: {
      keep: ({ billedCallId }: AnsweredClaim) =>
        run('kept', () => arrived.push({ part: 'kept', callId: billedCallId })),
    },
  };
  return {
    books,
    arrived,
    asked,
    faults,
    state,
    charges,
    hold(part: Part): () => void {
      const gate = Promise.withResolvers<void>();
      gates[part] = gate;
      return () => {
        delete gates[part];
        gate.resolve();
      };
    },
    /** The parts of a call that were carried out, in order. */
    parts: (callId: string): Part[] => arrived.filter((each) => each.callId === callId).map(({ part }) => part),
  };
}

/** A call that was charged 7 for, on whatever a test says. */
function endingOf(callId: string, has: Partial<Record<'plan' | 'key' | 'kept' | 'made', boolean>> = {}): CallEnding {
  const outcome = {
    accountId: 'acct_1',
    callId,
    status: 'succeeded',
    httpStatus: 200,
    errorCode: null,
    usage: { source: 'observed', inputTokens: 3, outputTokens: 5 },
    price: { rule: 'base', prices: {} },
    chargeNano: 7n,
  } as unknown as CallOutcome;
  return {
    outcome,
    plan: has.plan ? { counts: true, tokens: 8 } : null,
    key: has.key ? { counts: true, chargeNano: 7n } : null,
    kept: has.kept
      ? {
          accountId: 'acct_1',
          callId: `claim_of_${callId}`,
          billedCallId: callId,
          startedAtMs: 1,
          head: { status: 200, headers: {}, callHeaders: {} },
          body: Buffer.from('an answer'),
        }
      : null,
    made: has.made ? { keys: ['r:1'], model: callId, providerId: 'p', atMs: 1 } : null,
  };
}

const EVERYTHING = { plan: true, key: true, kept: true, made: true };

const charged = (callId: string): Arrived => ({ part: 'money', callId, status: 'succeeded', chargeNano: 7n });
const recordedAsFailed = (callId: string): Arrived => ({ part: 'money', callId, status: 'failed', chargeNano: null });

interface Logged {
  readonly level: 'info' | 'warn' | 'error';
  readonly details: Record<string, unknown>;
  readonly message: string;
}

function createLogger(): { logger: Logger; logged: Logged[] } {
  const logged: Logged[] = [];
  const note = (level: Logged['level']) => (details: object, message: string) =>
    void logged.push({ level, details: details as Record<string, unknown>, message });
  return { logger: { ...silentLogger, info: note('info'), warn: note('warn'), error: note('error') }, logged };
}

const root = mkdtempSync(join(tmpdir(), 'faregate-settlement-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** A disk that can be full, or not be read. */
function createFaultyDisk() {
  const state = { isFull: false, isUnreadable: false, reads: 0 };
  const guarded = (file: DiskFile): DiskFile => ({
    ...file,
    async write(bytes, offset) {
      if (state.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return file.write(bytes, offset);
    },
    async read(into, offset) {
      state.reads++;
      if (state.isUnreadable) throw Object.assign(new Error('input/output error'), { code: 'EIO' });
      return file.read(into, offset);
    },
  });
  const disk: Disk = { ...nodeDisk, create: async (path) => guarded(await nodeDisk.create(path)) };
  return { disk, state };
}

interface Scene extends ReturnType<typeof createBooks> {
  readonly settlement: Settlement;
  readonly journal: Journal;
  readonly directory: string;
  readonly logged: Logged[];
  readonly disk: { isFull: boolean; isUnreadable: boolean; readonly reads: number };
  /** What the journal's files hold, this process's and others'. */
  stored(): string;
  close(): Promise<void>;
}

let journals = 0;
const open = new Set<Scene>();
afterEach(async () => {
  for (const scene of open) await scene.close();
});

async function setScene(
  options: { directory?: string; logger?: Logger; patienceMs?: number; books?: ReturnType<typeof createBooks> } = {},
): Promise<Scene> {
  const directory = options.directory ?? mkdtempSync(join(root, 'journal-'));
  const books = options.books ?? createBooks();
  const { logger, logged } = createLogger();
  const { disk, state } = createFaultyDisk();
  const journal = await openJournal({
    directory,
    name: `node_${++journals}`,
    logger: silentLogger,
    clock: systemClock,
    disk,
    retryMs: 1,
  });
  const settlement = createSettlement({
    ...books.books,
    journal,
    isDataFault: (error) => error === dataFault,
    logger: options.logger ?? logger,
    patienceMs: options.patienceMs ?? 3_600_000,
    retryDelayMs: 1,
  });
  let isClosed = false;
  const scene: Scene = {
    ...books,
    settlement,
    journal,
    directory,
    logged,
    disk: state,
    stored: () =>
      readdirSync(directory)
        .map((name) => readFileSync(join(directory, name), 'utf8'))
        .join('')
        .trim(),
    async close() {
      open.delete(scene);
      if (isClosed) return;
      isClosed = true;
      await settlement.drain();
    },
  };
  open.add(scene);
  return scene;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** So many turns of the event loop that whatever could have happened by itself has. */
async function turns(count = 50): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

describe('the end of a call that the books take', () => {
  it('is durable with that: the journal is not touched, and what is left of the account is told', async () => {
    const scene = await setScene();
    assert.deepEqual(await scene.settlement.end(endingOf('a')), { availableNano: 1_000n });
    assert.deepEqual(scene.arrived, [charged('a')]);
    assert.equal(scene.journal.size, 0);
    assert.equal(scene.stored(), '');
  });

  it('brings every part of it there, each once, and what repeats get before the money', async () => {
    const scene = await setScene();
    const release = scene.hold('kept');
    const ended = scene.settlement.end(endingOf('a', EVERYTHING));
    await turns();
    assert.deepEqual(scene.asked, { kept: 1, made: 0, money: 0, plan: 0, key: 0 });
    release();
    await ended;
    assert.deepEqual(scene.arrived, [
      { part: 'kept', callId: 'a' },
      { part: 'made', callId: 'a', keys: ['r:1'] },
      charged('a'),
      { part: 'plan', callId: 'a', counts: true, tokens: 8 },
      { part: 'key', callId: 'a', counts: true, chargeNano: 7n },
    ]);
  });

  it('brings what later calls may refer to there beside the money', async () => {
    const scene = await setScene();
    await scene.settlement.end(endingOf('a', { made: true }));
    assert.deepEqual(scene.parts('a').toSorted(), ['made', 'money']);
    assert.equal(scene.journal.size, 0);
  });

  it('goes to the journal where what later calls may refer to could not be stored, and is charged once', async () => {
    const scene = await setScene();
    scene.faults.made.push(lost(), lost('after'));
    await scene.settlement.end(endingOf('a', { made: true }));
    await scene.settlement.drain();
    assert.deepEqual(scene.asked, { kept: 0, made: 3, money: 3, plan: 0, key: 0 });
    assert.equal(scene.charges.size, 1);
    assert.equal(scene.journal.size, 0);
  });

  it('is not charged where what its repeats get could not be stored', async () => {
    const scene = await setScene();
    scene.faults.kept.push(lost());
    scene.state.isAway = true;
    await scene.settlement.end(endingOf('a', EVERYTHING));
    assert.deepEqual(scene.asked, { kept: 1, made: 0, money: 0, plan: 0, key: 0 });
  });

  it('does not fail where the limits of its key refuse it: it is charged as it should be, and an operator is told', async () => {
    const scene = await setScene();
    scene.faults.key.push({ error: dataFault, when: 'before' });
    assert.deepEqual(await scene.settlement.end(endingOf('a', EVERYTHING)), { availableNano: 1_000n });
    assert.deepEqual(scene.parts('a'), ['kept', 'made', 'money', 'plan']);
    assert.equal(scene.journal.size, 0);
    assert.deepEqual(
      scene.logged.map(({ level, details }) => [level, details.callId]),
      [['error', 'a']],
    );
  });
});

describe('the end of a call while the books are away', () => {
  for (const part of PARTS) {
    for (const when of ['before', 'after'] as const) {
      it(`is durable in the journal where "${part}" fails ${when} it was carried out, and comes into the books by itself`, async () => {
        const scene = await setScene();
        scene.faults[part].push(lost(when), lost(when), lost(when));
        assert.deepEqual(await scene.settlement.end(endingOf('a', EVERYTHING)), { availableNano: null });
        assert.match(scene.stored(), /"callId":"a"/);

        await until(() => scene.journal.size === 0);
        assert.deepEqual(new Set(scene.parts('a')), new Set(PARTS));
        assert.equal(scene.asked[part], 4);
        assert.deepEqual(scene.arrived.filter((each) => each.part === 'money').at(-1), charged('a'));
        assert.deepEqual([...scene.charges], [['a', 7n]]);
        await scene.close();
        assert.equal(scene.stored(), '');
      });
    }
  }

  it('comes into the books once for every call, however many wait, and is told to an operator once', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    const callIds = Array.from({ length: 300 }, (_, i) => `call_${i}`);
    const ended = await Promise.all(callIds.map((callId) => scene.settlement.end(endingOf(callId))));
    assert.ok(ended.every(({ availableNano }) => availableNano === null));
    assert.equal(scene.journal.size, 300);
    assert.deepEqual(scene.arrived, []);
    const said = (): string[] => scene.logged.map(({ level, message }) => `${level}: ${message}`);
    assert.deepEqual(said(), ['warn: the database does not take the ends of calls; they go to the journal']);

    scene.state.isAway = false;
    await until(() => scene.journal.size === 0);
    assert.deepEqual(scene.arrived.map(({ callId }) => callId).toSorted(), callIds.toSorted());
    assert.equal(said().filter((text) => text.startsWith('info')).length, 1);
  });

  it('comes into the books once the disk can be read again, where it could not be when they were back', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    await scene.settlement.end(endingOf('a', EVERYTHING));
    scene.disk.isUnreadable = true;
    scene.state.isAway = false;
    const { reads } = scene.disk;
    await until(() => scene.disk.reads >= reads + 3);
    assert.deepEqual(scene.parts('a'), []);
    scene.disk.isUnreadable = false;
    await until(() => scene.journal.size === 0);
    assert.deepEqual(new Set(scene.parts('a')), new Set(PARTS));
    assert.deepEqual([...scene.charges], [['a', 7n]]);
  });

  it('is tried again for a few of them only as long as none comes through', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    await Promise.all(Array.from({ length: 300 }, (_, i) => scene.settlement.end(endingOf(`call_${i}`))));
    const { money } = scene.asked;
    // Whatever is under way, and two more rounds.
    await scene.close();
    const tried = scene.asked.money - money;
    assert.ok(tried > 0 && tried < 300, String(tried));
  });

  it('of one call does not keep those of others, although it never comes through', async () => {
    const scene = await setScene();
    const { end } = scene.books.billing;
    const stubborn = new Error('a fault of which nobody knows what it means');
    Object.assign(scene.books.billing, {
      end: (outcome: CallOutcome) => (outcome.callId === 'stubborn' ? Promise.reject(stubborn) : end(outcome)),
    });
    scene.state.isAway = true;
    for (const callId of ['stubborn', 'a', 'b']) await scene.settlement.end(endingOf(callId));
    scene.state.isAway = false;
    await until(() => scene.journal.size === 1);
    assert.deepEqual(scene.arrived.map(({ callId }) => callId).toSorted(), ['a', 'b']);
  });
});

describe('the end of a call while the books are slow', () => {
  it('goes to the journal when the time is over, and out of it when the books have taken it after all', async () => {
    const scene = await setScene({ patienceMs: 1 });
    const release = scene.hold('money');
    assert.deepEqual(await scene.settlement.end(endingOf('a')), { availableNano: null });
    assert.equal(scene.journal.size, 1);
    assert.match(scene.stored(), /"callId":"a"/);
    assert.deepEqual(scene.arrived, []);

    release();
    await until(() => scene.journal.size === 0);
    assert.deepEqual(scene.arrived, [charged('a')]);
  });

  it('is not tried a second time while the first try is under way', async () => {
    const scene = await setScene({ patienceMs: 1 });
    const release = scene.hold('money');
    await scene.settlement.end(endingOf('a'));
    scene.faults.plan.push(lost());
    await scene.settlement.end({ ...endingOf('b', { plan: true }) });
    await turns(200);
    assert.equal(scene.asked.money, 2);
    release();
    await until(() => scene.journal.size === 0);
    assert.deepEqual([...scene.charges.keys()].toSorted(), ['a', 'b']);
  });

  for (const when of ['before', 'after'] as const) {
    it(`comes into the books from the journal where the slow try fails ${when} it was carried out`, async () => {
      const scene = await setScene({ patienceMs: 1 });
      scene.faults.money.push(lost(when));
      const release = scene.hold('money');
      await scene.settlement.end(endingOf('a', EVERYTHING));
      release();
      await until(() => scene.journal.size === 0);
      assert.equal(scene.asked.money, 2);
      assert.deepEqual([...scene.charges], [['a', 7n]]);
      assert.ok(scene.parts('a').includes('key'));
    });
  }

  it('is the books’ to decide where the journal takes nothing either', async () => {
    const scene = await setScene({ patienceMs: 1 });
    scene.disk.isFull = true;
    const release = scene.hold('money');
    const ended = scene.settlement.end(endingOf('a'));
    await until(() => !scene.settlement.canTakeCalls);
    release();
    assert.deepEqual(await ended, { availableNano: 1_000n });
    assert.deepEqual(scene.arrived, [charged('a')]);
  });

  it('is not charged where another carries it out, which is found when the success has left already', async () => {
    const scene = await setScene({ patienceMs: 1 });
    scene.faults.kept.push(
      { error: new ClaimLostError(), when: 'before' },
      { error: new ClaimLostError(), when: 'before' },
    );
    const release = scene.hold('kept');
    await scene.settlement.end(endingOf('a', EVERYTHING));
    release();
    await until(() => scene.journal.size === 0);
    assert.deepEqual(scene.arrived, [
      { part: 'made', callId: 'a', keys: ['r:1'] },
      { part: 'money', callId: 'a', status: 'succeeded', chargeNano: null },
      { part: 'plan', callId: 'a', counts: false, tokens: 0 },
      { part: 'key', callId: 'a', counts: false, chargeNano: 0n },
    ]);
  });
});

describe('the end of a call that neither the books nor the journal take', () => {
  it('is refused, and comes into the books later as one that failed and is not charged', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    scene.disk.isFull = true;
    await assert.rejects(scene.settlement.end(endingOf('a', EVERYTHING)), connectionLost);
    assert.equal(scene.settlement.canTakeCalls, false);
    assert.equal(scene.stored(), '');

    scene.state.isAway = false;
    await until(() => scene.parts('a').includes('key'));
    assert.deepEqual(scene.arrived, [
      recordedAsFailed('a'),
      { part: 'plan', callId: 'a', counts: false, tokens: 0 },
      { part: 'key', callId: 'a', counts: false, chargeNano: 0n },
    ]);
  });

  it('is withheld in the books, too, where it was the slow try that failed in the end', async () => {
    const scene = await setScene({ patienceMs: 1 });
    scene.disk.isFull = true;
    scene.faults.money.push(lost(), lost());
    const release = scene.hold('money');
    const ended = scene.settlement.end(endingOf('a'));
    await until(() => !scene.settlement.canTakeCalls);
    release();
    await assert.rejects(ended, connectionLost);
    await until(() => scene.arrived.length > 0);
    assert.deepEqual(scene.arrived, [recordedAsFailed('a')]);
  });

  for (const part of ['plan', 'key'] as const) {
    it(`is a success where only "${part}" is missing: it is paid for, and the rest comes into the books later`, async () => {
      const scene = await setScene();
      scene.disk.isFull = true;
      scene.faults[part].push(lost(), lost('after'), lost());
      assert.deepEqual(await scene.settlement.end(endingOf('a', EVERYTHING)), { availableNano: 1_000n });
      await until(() => scene.asked[part] === 4 && scene.parts('a').at(-1) === 'key');
      await scene.close();
      assert.ok(scene.arrived.every((each) => each.part !== 'money' || each.status === 'succeeded'));
      assert.deepEqual(scene.arrived.filter((each) => each.part === 'plan').at(-1), {
        part: 'plan',
        callId: 'a',
        counts: true,
        tokens: 8,
      });
      assert.deepEqual(scene.arrived.at(-1), { part: 'key', callId: 'a', counts: true, chargeNano: 7n });
      assert.deepEqual([...scene.charges], [['a', 7n]]);
    });
  }

  it('is a success where only the answer of the books was lost: asked once more, they say that they have it', async () => {
    const scene = await setScene();
    scene.disk.isFull = true;
    scene.faults.money.push(lost('after'));
    assert.deepEqual(await scene.settlement.end(endingOf('a', EVERYTHING)), { availableNano: null });
    assert.deepEqual([...scene.charges], [['a', 7n]]);
    assert.deepEqual(scene.parts('a'), ['kept', 'made', 'money', 'kept', 'made', 'money', 'plan', 'key']);
  });

  it('does not take along those that were stored before, and calls are taken again when there is space', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    await scene.settlement.end(endingOf('stored'));
    scene.disk.isFull = true;
    await assert.rejects(scene.settlement.end(endingOf('refused')), connectionLost);
    scene.disk.isFull = false;
    await until(() => scene.settlement.canTakeCalls);
    await scene.settlement.end(endingOf('stored later'));
    scene.state.isAway = false;
    await until(() => scene.journal.size === 0 && scene.parts('refused').length > 0);
    assert.deepEqual([...scene.charges.keys()].toSorted(), ['stored', 'stored later']);
  });

  it('is left for recovery where more wait than can be remembered, each named to an operator', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    scene.disk.isFull = true;
    const max = 10_000;
    const callIds = Array.from({ length: max + 200 }, (_, i) => `call_${i}`);
    const ended = await Promise.allSettled(callIds.map((callId) => scene.settlement.end(endingOf(callId))));
    assert.ok(ended.every(({ status }) => status === 'rejected'));
    const left = scene.logged
      .filter(({ message }) => message.includes('left for recovery'))
      .map((each) => each.details);
    assert.equal(left.length, callIds.length - max);
    scene.state.isAway = false;
    await until(() => scene.arrived.length === callIds.length - left.length);
    const arrived = new Set(scene.arrived.map(({ callId }) => callId));
    assert.deepEqual(
      callIds.filter((callId) => !arrived.has(callId)),
      left.map(({ callId }) => callId),
    );
    assert.equal(scene.charges.size, 0);
  });

  it('is remembered however many wait in the journal', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    const stored = Array.from({ length: 10_200 }, (_, i) => `stored_${i}`);
    await Promise.all(stored.map((callId) => scene.settlement.end(endingOf(callId))));
    scene.disk.isFull = true;
    await assert.rejects(scene.settlement.end(endingOf('refused')), connectionLost);
    assert.ok(scene.logged.every(({ message }) => !message.includes('left for recovery')));
    scene.state.isAway = false;
    await until(() => scene.arrived.length === stored.length + 1);
    assert.equal(scene.parts('refused').length, 1);
    assert.equal(scene.charges.size, stored.length);
  });
});

describe('the end of a call whose data the books refuse', () => {
  it('is refused, and on record as failed before that is known', async () => {
    const scene = await setScene();
    scene.faults.money.push({ error: dataFault, when: 'before' });
    await assert.rejects(scene.settlement.end(endingOf('a', EVERYTHING)), dataFault);
    assert.deepEqual(scene.arrived.slice(-3), [
      recordedAsFailed('a'),
      { part: 'plan', callId: 'a', counts: false, tokens: 0 },
      { part: 'key', callId: 'a', counts: false, chargeNano: 0n },
    ]);
    assert.equal(scene.charges.size, 0);
    assert.equal(scene.stored(), '');
  });

  it('comes to its end as failed later, where the books go away between the two', async () => {
    const scene = await setScene();
    scene.faults.money.push({ error: dataFault, when: 'before' }, lost(), lost());
    await assert.rejects(scene.settlement.end(endingOf('a')), dataFault);
    await until(() => scene.arrived.length > 0);
    assert.deepEqual(scene.arrived, [recordedAsFailed('a')]);
  });

  it('has left already when it comes from the journal: it is recorded without a charge, and an operator is told', async () => {
    const scene = await setScene();
    scene.faults.money.push(lost(), { error: dataFault, when: 'before' });
    await scene.settlement.end(endingOf('a', EVERYTHING));
    await until(() => scene.journal.size === 0);
    assert.deepEqual(
      scene.arrived.filter(({ part }) => part === 'money'),
      [{ part: 'money', callId: 'a', status: 'succeeded', chargeNano: null }],
    );
    assert.equal(scene.charges.size, 0);
    const [error] = scene.logged.filter(({ level }) => level === 'error');
    assert.deepEqual([error?.details.callId, error?.details.accountId, error?.details.err], ['a', 'acct_1', dataFault]);
  });
});

describe('the end of a call that the books refuse in every form', () => {
  it('is left for recovery, said to an operator, and not tried for ever', async () => {
    const scene = await setScene();
    const refused = { error: dataFault, when: 'before' } as const;
    scene.faults.money.push(lost(), refused, refused, refused);
    await scene.settlement.end(endingOf('a', EVERYTHING));
    await until(() => scene.journal.size === 0);
    await turns();
    assert.deepEqual([scene.asked.money, scene.charges.size], [4, 0]);
    assert.equal(scene.logged.filter(({ level, details }) => level === 'error' && details.callId === 'a').length, 3);
  });
});

describe('the end of a call of which a repeat is carried out elsewhere', () => {
  it('is refused, and nothing of it is written anywhere: whoever ends the call says how', async () => {
    const scene = await setScene();
    scene.faults.kept.push({ error: new ClaimLostError(), when: 'before' });
    await assert.rejects(scene.settlement.end(endingOf('a', EVERYTHING)), ClaimLostError);
    await turns();
    assert.deepEqual(scene.arrived, []);
    assert.equal(scene.stored(), '');
    assert.deepEqual(scene.asked, { kept: 1, made: 0, money: 0, plan: 0, key: 0 });
  });

  it('has left already when it comes from the journal: it is recorded as delivered, and not charged', async () => {
    const scene = await setScene();
    scene.faults.kept.push(lost(), { error: new ClaimLostError(), when: 'before' });
    await scene.settlement.end(endingOf('a', EVERYTHING));
    await until(() => scene.journal.size === 0);
    assert.deepEqual(scene.arrived, [
      { part: 'made', callId: 'a', keys: ['r:1'] },
      { part: 'money', callId: 'a', status: 'succeeded', chargeNano: null },
      { part: 'plan', callId: 'a', counts: false, tokens: 0 },
      { part: 'key', callId: 'a', counts: false, chargeNano: 0n },
    ]);
    assert.equal(scene.charges.size, 0);
    assert.ok(scene.logged.some(({ level, details }) => level === 'warn' && details.callId === 'a'));
  });
});

describe('what earlier processes left in their journals', () => {
  /** A process that ended while the books were away. */
  async function leave(directory: string, callIds: readonly string[]): Promise<void> {
    const scene = await setScene({ directory });
    scene.state.isAway = true;
    for (const callId of callIds) await scene.settlement.end(endingOf(callId, EVERYTHING));
    await scene.close();
  }

  it('comes into the books at the start, each once', async () => {
    const directory = mkdtempSync(join(root, 'left-'));
    await leave(directory, ['a', 'b']);
    await leave(directory, ['c']);
    const scene = await setScene({ directory });
    assert.equal(await scene.settlement.recover(), 0);
    assert.deepEqual([...scene.charges.keys()].toSorted(), ['a', 'b', 'c']);
    for (const callId of ['a', 'b', 'c']) assert.deepEqual(scene.parts(callId), [...PARTS]);
    await scene.close();
    assert.equal(scene.stored(), '');
    assert.deepEqual(readdirSync(directory), []);
  });

  it('waits for the books where they are away at the start, too, and nobody waits for that', async () => {
    const directory = mkdtempSync(join(root, 'left-'));
    await leave(directory, ['a', 'b']);
    const scene = await setScene({ directory });
    scene.state.isAway = true;
    assert.equal(await scene.settlement.recover(), 2);
    scene.state.isAway = false;
    await until(() => scene.journal.size === 0);
    assert.deepEqual([...scene.charges.keys()].toSorted(), ['a', 'b']);
  });

  it('is charged once where it was in the books already', async () => {
    const directory = mkdtempSync(join(root, 'left-'));
    const books = createBooks();
    const first = await setScene({ directory, books });
    first.faults.money.push(lost('after'));
    await first.settlement.end(endingOf('a'));
    books.state.isAway = true;
    await first.close();
    books.state.isAway = false;
    const scene = await setScene({ directory, books });
    await scene.settlement.recover();
    assert.deepEqual([...scene.charges], [['a', 7n]]);
    assert.equal(scene.arrived.length, 2);
  });

  it('is taken over from a process that is alive as well, which has nothing left to do then', async () => {
    const directory = mkdtempSync(join(root, 'left-'));
    const books = createBooks();
    const living = await setScene({ directory, books });
    books.state.isAway = true;
    for (const callId of ['a', 'b']) await living.settlement.end(endingOf(callId));
    await living.settlement.end(endingOf('c'));
    const other = await setScene({ directory });
    assert.equal(await other.settlement.recover(), 0);
    assert.equal(other.charges.size, 3);
    books.state.isAway = false;
    await living.close();
    await other.close();
    assert.deepEqual(readdirSync(directory), []);
    assert.deepEqual(
      living.logged.filter(({ level }) => level === 'error'),
      [],
    );
  });

  it('stays in the journal where this version cannot read it, and is named to an operator', async () => {
    const directory = mkdtempSync(join(root, 'left-'));
    const other = await openJournal({ directory, name: 'node_other', logger: silentLogger, clock: systemClock });
    const newer = encodeEnding(endingOf('newer')).replace('"version":1', '"version":2');
    for (const entry of [newer, encodeEnding(endingOf('a')), 'no JSON at all']) await other.append(entry);
    await other.close();

    const scene = await setScene({ directory });
    assert.equal(await scene.settlement.recover(), 0);
    assert.deepEqual(scene.arrived, [charged('a')]);
    const errors = scene.logged.filter(({ level }) => level === 'error').map(({ details }) => String(details.err));
    assert.equal(errors.length, 2);
    assert.match(errors[0]!, /version 2/);
    await scene.close();
    assert.match(scene.stored(), /"version":2.*"callId":"newer"/);
    assert.match(scene.stored(), /no JSON at all/);

    // The next start finds the same.
    const next = await setScene({ directory });
    await next.settlement.recover();
    assert.match(next.stored(), /"version":2.*"callId":"newer"/);
  });
});

describe('a shutdown', () => {
  it('waits for ends that are under way', async () => {
    const scene = await setScene();
    const release = scene.hold('money');
    const ended = scene.settlement.end(endingOf('a'));
    let isDrained = false;
    const drained = scene.settlement.drain().then(() => {
      isDrained = true;
    });
    await turns();
    assert.equal(isDrained, false);
    release();
    await drained;
    await ended;
    assert.deepEqual(scene.arrived, [charged('a')]);
  });

  it('waits for a slow try whose success has left already, so that nothing is left over', async () => {
    const scene = await setScene({ patienceMs: 1 });
    const release = scene.hold('money');
    await scene.settlement.end(endingOf('a'));
    const drained = scene.settlement.drain();
    await turns();
    assert.deepEqual(scene.arrived, []);
    release();
    await drained;
    assert.deepEqual(scene.arrived, [charged('a')]);
    assert.equal(scene.stored(), '');
  });

  it('tries once more what waits for the books, and leaves in the journal what they do not take', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    await scene.settlement.end(endingOf('a'));
    await scene.settlement.end(endingOf('b'));
    await scene.close();
    assert.match(scene.stored(), /"callId":"a".*"callId":"b"/s);
    assert.ok(scene.logged.some(({ details, message }) => message.includes('the next start') && details.calls === 2));

    scene.state.isAway = false;
    const { money } = scene.asked;
    await turns();
    assert.equal(scene.asked.money, money, 'nothing is tried after the end');
  });

  it('brings in what waits where the books are back by then, although nobody has noticed yet', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    for (let i = 0; i < 100; i++) await scene.settlement.end(endingOf(`call_${i}`));
    scene.state.isAway = false;
    await scene.close();
    assert.equal(scene.charges.size, 100);
    assert.equal(scene.stored(), '');
  });

  it('brings in a failed end that was in no journal, where the books are back by then', async () => {
    const scene = await setScene();
    scene.state.isAway = true;
    scene.disk.isFull = true;
    await assert.rejects(scene.settlement.end(endingOf('a')));
    scene.state.isAway = false;
    await scene.close();
    assert.deepEqual(scene.arrived, [recordedAsFailed('a')]);
  });
});

describe('a process that takes no calls', () => {
  it('settles none', async () => {
    assert.equal(noSettlement.canTakeCalls, false);
    await assert.rejects(noSettlement.end(endingOf('a')));
    assert.equal(await noSettlement.recover(), 0);
    await noSettlement.drain();
  });
});

describe('ends of calls, whatever fails', () => {
  const fault = fc.option(fc.constantFrom(lost('before'), lost('after')), { nil: null, freq: 2 });
  const faultsOfPart = fc.array(fault, { maxLength: 12 });
  const call = fc.record({ plan: fc.boolean(), key: fc.boolean(), kept: fc.boolean(), pause: fc.nat(3) });

  it('come into the books at least once with every part, and are charged once; what was refused is not lost either', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 1, maxLength: 12 }),
        fc.record({
          kept: faultsOfPart,
          made: faultsOfPart,
          money: faultsOfPart,
          plan: faultsOfPart,
          key: faultsOfPart,
        }),
        fc.record({ fullFrom: fc.nat(14), fullFor: fc.nat(4), restartsAt: fc.nat(20), isImpatient: fc.boolean() }),
        async (calls, faults, { fullFrom, fullFor, restartsAt, isImpatient }) => {
          const books = createBooks();
          const directory = mkdtempSync(join(root, 'any-'));
          for (const part of PARTS) books.faults[part].push(...faults[part]);
          const patienceMs = isImpatient ? 0 : 3_600_000;
          let scene = await setScene({ directory, books, patienceMs });
          const ends: Promise<PromiseSettledResult<EndedCall>>[] = [];
          for (const [i, { pause, ...has }] of calls.entries()) {
            if (i === restartsAt) {
              await Promise.all(ends);
              // What was in no journal would be left to recovery, which these books do not have.
              if (fullFrom < i) for (const part of PARTS) books.faults[part].length = 0;
              await scene.close();
              scene = await setScene({ directory, books, patienceMs });
              await scene.settlement.recover();
            }
            scene.disk.isFull = i >= fullFrom && i < fullFrom + fullFor;
            const ended = scene.settlement.end(endingOf(`call_${i}`, has));
            ends.push(Promise.allSettled([ended]).then(([result]) => result!));
            await turns(pause);
          }
          const results = await Promise.all(ends);
          scene.disk.isFull = false;
          for (const part of PARTS) books.faults[part].length = 0;
          await scene.close();
          const last = await setScene({ directory, books });
          assert.equal(await last.settlement.recover(), 0);
          await last.close();
          assert.deepEqual(readdirSync(directory), []);

          for (const [i, { plan, key, kept }] of calls.entries()) {
            const callId = `call_${i}`;
            const parts = new Set(books.parts(callId));
            assert.ok(parts.has('money'), `${callId} is on record`);
            assert.equal(parts.has('plan'), plan);
            assert.equal(parts.has('key'), key);
            const moneys = books.arrived.filter((each) => each.part === 'money' && each.callId === callId);
            if (results[i]!.status === 'fulfilled') {
              assert.equal(books.charges.get(callId), 7n);
              assert.equal(parts.has('kept'), kept);
              assert.ok(moneys.every((each) => each.part === 'money' && each.status === 'succeeded'));
            } else if (books.charges.has(callId)) {
              // The books had it, and lost their answer on the way. Nobody can take it back.
              assert.ok(faults.money.some((each) => each?.when === 'after'));
              assert.deepEqual(moneys[0], charged(callId));
            }
          }
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  });
});
