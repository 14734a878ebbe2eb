import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextStep, STEPS } from '../../console/src/features/live/steps.ts';
import { commandsFor, matches, type PageFor, type Viewer } from '../../console/src/layout/page-for.ts';

describe('the command palette', () => {
  const nobody: Viewer = { hasAccount: false, isOwner: false, operatorRole: null };
  const audiences: readonly PageFor[] = ['member', 'owner', 'operator', 'anyone'];
  const shownTo = (viewer: Partial<Viewer>) =>
    commandsFor(
      audiences.map((each) => ({ for: each })),
      { ...nobody, ...viewer },
    ).map((each) => each.for);

  it('offers what the user may do: auditors change nothing', () => {
    assert.deepEqual(shownTo({}), ['anyone']);
    assert.deepEqual(shownTo({ operatorRole: 'auditor' }), ['anyone']);
    assert.deepEqual(shownTo({ hasAccount: true }), ['member', 'anyone']);
    assert.deepEqual(shownTo({ hasAccount: true, isOwner: true }), ['member', 'owner', 'anyone']);
    assert.deepEqual(shownTo({ operatorRole: 'operator' }), ['operator', 'anyone']);
  });

  it('finds titles by their words in any order, in both languages', () => {
    const drain = ['Drain a route', '排空路由'];
    for (const text of ['', 'drain', 'ROUTE dr', '排空']) assert.ok(matches(drain, text), text);
    assert.ok(!matches(drain, 'drain account'));
  });
});

describe('the first steps', () => {
  it('lead to the first one that is not done, at last to a call', () => {
    assert.equal(nextStep({ done: new Set() }), 'provider');
    assert.equal(nextStep({ done: new Set(['provider', 'account']) }), 'model');
    assert.equal(nextStep({ done: new Set(STEPS) }), 'call');
  });
});
