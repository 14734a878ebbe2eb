import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TIME as TODAY_TIME } from '../../../test/support/accounting-builders.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { CallName, OpenReservation } from '../reservations/reservation.ts';
import { NOT_LIMITED } from '../reservations/tables.ts';
import { createRecovery } from './recovery.ts';

const reservationOf = (callId: string, amountNano: bigint | null): OpenReservation => ({
  accountId: 'acc',
  callId,
  keyId: 'key',
  model: 'test',
  nodeId: 'dead',
  reservedAtMs: 0,
  facts: '[]',
  ...NOT_LIMITED,
  amountNano,
  ...(amountNano === null ? { subscriptionId: 'sub', weekNo: 0, periodNo: 0, tokens: 7 } : {}),
  hasSlot: amountNano === null,
});

/** A recovery of reserved calls. `recorded` ones already have a record; the accounts of `locked` ones are locked. */
function setScene(calls: readonly OpenReservation[], recorded: readonly string[] = [], locked: readonly string[] = []) {
  let open = [...calls];
  /** Actions in order. */
  const done: string[] = [];
  const logged: object[] = [];
  const resolveDeadCalls = createRecovery({
    reservations: {
      async listOfDeadNodes(selfId, deadAfterMs, limit, behind) {
        assert.deepEqual([selfId, deadAfterMs], ['node', 5]);
        const inOrder = open.toSorted((left, right) => (left.callId < right.callId ? -1 : 1));
        return inOrder.filter(({ callId }) => callId > (behind?.callId ?? '')).slice(0, limit);
      },
    },
    settlement: {
      async resolve(names: readonly CallName[], _time: unknown, locks = 'all') {
        const isLocked = names.some(({ callId }) => locked.includes(callId));
        if (isLocked && locks === 'all') throw Object.assign(new Error('not free'), { code: '55P03' });
        done.push(`resolve ${names.length}`);
        const ids = new Set(names.map(({ callId }) => callId).filter((callId) => !locked.includes(callId)));
        const resolved = open.filter(({ callId }) => ids.has(callId));
        open = open.filter(({ callId }) => !ids.has(callId));
        return resolved.filter(({ callId }) => !recorded.includes(callId));
      },
    },
    nodeId: 'node',
    time: () => ({ ...TODAY_TIME, nowMs: null }),
    recoverJournals: async () => void done.push('journals'),
    logger: { ...silentLogger, warn: (details: object) => void logged.push(details) },
  });
  return { resolveDeadCalls, done, logged, open: () => open };
}

describe('calls of dead nodes', () => {
  it('all give back their reservations, and only those without a record are logged as unresolved', async () => {
    const calls = [reservationOf('recorded', null), reservationOf('coding', null), reservationOf('paid', 30_000_000n)];
    const scene = setScene(calls, ['recorded']);
    await scene.resolveDeadCalls(5);
    assert.deepEqual(scene.open(), []);
    const names = { accountId: 'acc', keyId: 'key', model: 'test', reservedAt: new Date(0) };
    assert.deepEqual(scene.logged, [
      { ...names, callId: 'coding' },
      { ...names, callId: 'paid', reservedYuan: '0.03' },
    ]);
  });

  it('are resolved after the journals of their nodes, whose calls have a known outcome', async () => {
    const scene = setScene([reservationOf('call', null)]);
    await scene.resolveDeadCalls(5);
    assert.deepEqual(scene.done, ['journals', 'resolve 1']);
  });

  it('are resolved in batches', async () => {
    const scene = setScene(Array.from({ length: 1_200 }, (_, i) => reservationOf(`call_${i}`, 1n)));
    await scene.resolveDeadCalls(5);
    assert.deepEqual(scene.done, ['journals', 'resolve 500', 'resolve 500', 'resolve 200']);
    assert.equal(scene.logged.length, 1_200);
  });

  it('of locked accounts are left, and do not block later ones', async () => {
    const calls = Array.from({ length: 501 }, (_, i) => reservationOf(`call_${String(i).padStart(3, '0')}`, 1n));
    const locked = calls.slice(0, 500).map(({ callId }) => callId);
    const scene = setScene(calls, [], locked);
    await scene.resolveDeadCalls(5);
    assert.deepEqual(
      scene.open().map(({ callId }) => callId),
      locked,
    );
  });

  it('do not cause reads of journals if there are none', async () => {
    const scene = setScene([]);
    await scene.resolveDeadCalls(5);
    assert.deepEqual(scene.done, []);
  });
});
