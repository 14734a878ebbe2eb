import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { beforeEach, describe, it } from 'node:test';
import { StoppedError, StopSignals } from './stop-signals.ts';

describe('the signals that stop a gateway', () => {
  let source: EventEmitter;
  let signals: StopSignals;
  beforeEach(() => {
    source = new EventEmitter();
    signals = new StopSignals(source);
  });

  it('are known by the first one, which ends what the start waits for', async () => {
    assert.equal(signals.begun.aborted, false);
    source.emit('SIGINT');
    source.emit('SIGTERM');
    assert.equal(await signals.first, 'SIGINT');
    assert.ok(signals.begun.reason instanceof StoppedError);
  });

  for (const further of ['SIGTERM', 'SIGINT']) {
    it(`skip the delay with a further ${further}`, async () => {
      source.emit('SIGTERM');
      await signals.first;
      const delayed = signals.delay(3_600_000);
      source.emit(further);
      await delayed;
    });
  }

  it('wait for the delay if no other signal comes', async () => {
    source.emit('SIGTERM');
    await signals.delay(1);
  });

  it('are left to the system once the gateway closes', () => {
    source.emit('SIGTERM');
    signals.letGo();
    assert.deepEqual([source.listenerCount('SIGTERM'), source.listenerCount('SIGINT')], [0, 0]);
  });
});
