import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnresolvedCall } from '../billing/call-outcome.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createRecovery } from './recovery.ts';

const callOf = (callId: string): UnresolvedCall => ({
  accountId: 'acc',
  callId,
  keyId: 'key',
  model: 'test',
  heldAt: new Date(0),
  facts: '[]',
});

describe('coding calls of dead nodes', () => {
  it('all give back what they hold, and only those that had no record are said to be unresolved', async () => {
    let held = [callOf('recorded'), callOf('unknown')];
    const ended: string[] = [];
    const told: unknown[] = [];
    const resolveDeadCalls = createRecovery({
      billing: {
        listDeadHolds: async () => [],
        resolveHolds: async () => [],
        recordUnresolved: async (calls) => calls.filter(({ callId }) => callId !== 'recorded'),
      },
      plans: {
        listDeadHolds: async () => held,
        async endCalls(calls) {
          ended.push(...calls.map(({ callId }) => callId));
          held = [];
        },
      },
      keys: { listDeadHolds: async () => [], releaseCalls: async () => undefined },
      nodeId: 'node',
      today: () => '2026-11-20',
      recoverJournals: async () => undefined,
      clock: systemClock,
      logger: { ...silentLogger, warn: (call: object) => void told.push((call as UnresolvedCall).callId) },
    });
    await resolveDeadCalls(0);
    assert.deepEqual([ended, told], [['recorded', 'unknown'], ['unknown']]);
  });
});
