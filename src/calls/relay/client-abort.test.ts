import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClientAbort, type OnClientAbort } from './client-abort.ts';

const NOTHING = { hasBegun: false, hasOutputEnd: false };
const BEGUN = { hasBegun: true, hasOutputEnd: false };
const END = { hasBegun: true, hasOutputEnd: true };
const LIMITS = { restMs: 30, restBytes: 1_000, firstByteMs: 600 };

type State = ClientAbort['state'];
/** The progress of the stream at its next chunk, and the resulting state. */
type Step = readonly [progress: typeof NOTHING, state: State];

/** What had arrived when the client left, and the later chunks. */
const transcripts: Readonly<Record<string, readonly [terms: OnClientAbort, first: Step, ...rest: readonly Step[]]>> = {
  'a client that leaves before the first event: the event is awaited, then the call is canceled': [
    'cancel',
    [NOTHING, 'awaitingFirstEvent'],
    [NOTHING, 'awaitingFirstEvent'],
    [BEGUN, 'cancelled'],
    [END, 'cancelled'],
  ],
  'a first event that arrives together with the end of the output: the usage is awaited': [
    'cancel',
    [NOTHING, 'awaitingFirstEvent'],
    [END, 'awaitingRest'],
    [END, 'awaitingRest'],
  ],
  'a client that leaves in the middle: the call is canceled': ['cancel', [BEGUN, 'cancelled'], [END, 'cancelled']],
  'a client that leaves after an end of the output: the usage is awaited': [
    'cancel',
    [END, 'awaitingRest'],
    [END, 'awaitingRest'],
  ],
  'drain: the end is awaited whenever the client leaves': [
    'drain',
    [NOTHING, 'awaitingEnd'],
    [BEGUN, 'awaitingEnd'],
    [END, 'awaitingEnd'],
  ],
};

/** A stream of which 500 bytes had arrived when its client left. */
function left(progress: typeof NOTHING, terms: OnClientAbort = 'cancel') {
  const seen = { ...progress };
  let cancelled = 0;
  const abort = new ClientAbort(seen, 500, terms, LIMITS, () => cancelled++);
  return { seen, abort, cancelled: () => cancelled };
}

describe('a client that leaves', () => {
  for (const [what, [terms, [progress, first], ...steps]] of Object.entries(transcripts)) {
    it(what, () => {
      const { seen, abort, cancelled } = left(progress, terms);
      assert.equal(abort.state, first);
      for (const [next, state] of steps) {
        Object.assign(seen, next);
        abort.received(600);
        assert.equal(abort.state, state);
      }
      abort.stop();
      assert.equal(cancelled(), abort.state === 'cancelled' ? 1 : 0);
    });
  }

  it('lets its stream continue for a limited time only', ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    for (const [progress, limitMs] of [
      [NOTHING, 600],
      [END, 30],
    ] as const) {
      const { cancelled } = left(progress);
      mock.timers.tick(limitMs - 1);
      assert.equal(cancelled(), 0);
      mock.timers.tick(1);
      assert.equal(cancelled(), 1);
    }
    const drained = left(NOTHING, 'drain');
    mock.timers.tick(1_000_000);
    assert.equal(drained.cancelled(), 0);
  });

  it('accepts a limited number of further bytes, unless the whole stream is awaited', () => {
    for (const progress of [NOTHING, END]) {
      const { abort, cancelled } = left(progress);
      abort.received(1_500);
      assert.equal(cancelled(), 0);
      abort.received(1_501);
      assert.equal(cancelled(), 1);
    }
    const drained = left(NOTHING, 'drain');
    drained.abort.received(1_000_000);
    assert.equal(drained.cancelled(), 0);
  });
});
