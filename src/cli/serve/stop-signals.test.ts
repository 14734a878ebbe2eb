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

  it('cancel a start', async () => {
    assert.equal(signals.begun.aborted, false);
    source.emit('SIGINT');
    source.emit('SIGTERM');
    assert.equal(await signals.first, 'SIGINT');
    assert.ok(signals.begun.reason instanceof StoppedError);
  });

  for (const further of ['SIGTERM', 'SIGINT']) {
    it(`end the delay with another ${further}`, async () => {
      source.emit('SIGTERM');
      await signals.first;
      const delayed = signals.delay(3_600_000);
      source.emit(further);
      await delayed;
    });
  }

  it('wait for the whole delay without another signal', async () => {
    source.emit('SIGTERM');
    await signals.delay(1);
  });

  it('kill the process once the gateway closes', () => {
    source.emit('SIGTERM');
    signals.letGo();
    assert.deepEqual([source.listenerCount('SIGTERM'), source.listenerCount('SIGINT')], [0, 0]);
  });
});
