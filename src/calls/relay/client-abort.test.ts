import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AbortEvent, type AbortState, limitOf, nextAbortState, type OnClientAbort } from './client-abort.ts';

const NOTHING = { hasBegun: false, hasOutputEnd: false };
const BEGUN = { hasBegun: true, hasOutputEnd: false };
const END = { hasBegun: true, hasOutputEnd: true };

type Step = readonly [event: AbortEvent, progress: typeof NOTHING, state: AbortState];

/** Each step: an event, the progress of the stream, and the state that follows. */
const transcripts: Readonly<Record<string, { terms?: OnClientAbort; steps: readonly Step[] }>> = {
  'a client that stays is served': {
    steps: [
      ['received', NOTHING, 'serving'],
      ['received', BEGUN, 'serving'],
      ['received', END, 'serving'],
    ],
  },
  'a client that leaves before the first event: that is awaited, then the call is cancelled': {
    steps: [
      ['clientLeft', NOTHING, 'awaitingFirstEvent'],
      ['received', NOTHING, 'awaitingFirstEvent'],
      ['received', BEGUN, 'cancelled'],
      ['received', END, 'cancelled'],
    ],
  },
  'a first event that never comes is not awaited without end': {
    steps: [
      ['clientLeft', NOTHING, 'awaitingFirstEvent'],
      ['limitPassed', NOTHING, 'cancelled'],
    ],
  },
  'a first event that comes together with the end of the output: the usage is awaited': {
    steps: [
      ['clientLeft', NOTHING, 'awaitingFirstEvent'],
      ['received', END, 'awaitingRest'],
      ['received', END, 'awaitingRest'],
      ['limitPassed', END, 'cancelled'],
    ],
  },
  'a client that leaves in the middle: the call is cancelled': { steps: [['clientLeft', BEGUN, 'cancelled']] },
  'a client that leaves behind an end of the output: the usage is awaited': {
    steps: [
      ['received', END, 'serving'],
      ['clientLeft', END, 'awaitingRest'],
      ['received', END, 'awaitingRest'],
    ],
  },
  'drain: the end is awaited, wherever the client leaves': {
    terms: 'drain',
    steps: [
      ['clientLeft', NOTHING, 'awaitingEnd'],
      ['received', BEGUN, 'awaitingEnd'],
      ['limitPassed', BEGUN, 'awaitingEnd'],
      ['received', END, 'awaitingEnd'],
    ],
  },
  'a cancelled call stays cancelled': {
    steps: [
      ['clientLeft', BEGUN, 'cancelled'],
      ['clientLeft', END, 'cancelled'],
      ['received', END, 'cancelled'],
    ],
  },
};

describe('a client that leaves', () => {
  for (const [what, { terms = 'cancel', steps }] of Object.entries(transcripts)) {
    it(what, () => {
      let state: AbortState = 'serving';
      for (const [event, progress, expected] of steps) {
        state = nextAbortState(state, event, progress, terms);
        assert.equal(state, expected, event);
      }
    });
  }

  it('lets its stream go on within the limits only', () => {
    const limits = { restMs: 30, restBytes: 1_000 };
    const known = { receivedBytes: 500, firstByteMs: 600 };
    const limitsOf = (state: AbortState) => limitOf(state, limits, known);
    assert.deepEqual(limitsOf('awaitingFirstEvent'), { timeMs: 600, bytes: 1_500 });
    assert.deepEqual(limitsOf('awaitingRest'), { timeMs: 30, bytes: 1_500 });
    for (const state of ['serving', 'awaitingEnd', 'cancelled'] as const) assert.equal(limitsOf(state), null);
  });
});
