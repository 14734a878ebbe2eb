import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Outcome, problemsOf, remarks, waitsOf, waitsTable } from './report.ts';
import { LOOK } from './scene/innocent-call.ts';

const waits = { calls: 60, consoleP99Ms: 9, failures: [], p50Ms: 5, p99Ms: 20 };
const harmless: Outcome = {
  name: 'bombs',
  report: { responses: { 402: 100 }, money: [], notes: ['nothing was taken'], problems: [] },
  before: waits,
  during: { ...waits, p99Ms: 5_000 },
  memoryMiB: 100,
  memoryMiBMax: 384,
  death: null,
};

describe('what fails a run of attacks', () => {
  it('is no wait, however long', () => assert.deepEqual(problemsOf(harmless), []));

  it('is a call of the innocent caller that failed', () => {
    const during = { ...waits, failures: ['chat: 502'] };
    assert.match(problemsOf({ ...harmless, during }).join(), /^1 of 60 calls .* chat: 502$/);
  });

  it('is an innocent caller that made no call', () => {
    assert.equal(problemsOf({ ...harmless, during: { ...waits, calls: 0 } }).length, 1);
  });

  it('is the end of the gateway', () => {
    assert.deepEqual(problemsOf({ ...harmless, death: 'ended with SIGABRT' }), ['the gateway ended with SIGABRT']);
  });

  it('is memory beyond its bound', () => {
    assert.deepEqual(problemsOf({ ...harmless, memoryMiB: 384 }), []);
    assert.deepEqual(problemsOf({ ...harmless, memoryMiB: 385 }), ['memory grew by 385 MiB, more than 384']);
  });

  it('is what an attack itself found', () => {
    const report = { ...harmless.report, problems: ['it was free'] };
    assert.deepEqual(problemsOf({ ...harmless, report }), ['it was free']);
    assert.match(remarks([{ ...harmless, report }]), /^bombs: nothing was taken\nbombs FAILED: it was free$/);
    assert.match(waitsTable([{ ...harmless, report }]), /FAILED/);
  });
});

describe('waits of the innocent caller', () => {
  it('are quantiles of all its calls, those that failed among them, and of its console by themselves', () => {
    const calls = Array.from({ length: 100 }, (_, index) => ({
      kind: 'chat',
      startedAtMs: 0,
      tookMs: 100 - index,
      failure: index === 0 ? '502' : null,
    }));
    const looks = [3, 7].map((tookMs) => ({ kind: LOOK, startedAtMs: 0, tookMs, failure: null }));
    const waits = { calls: 102, consoleP99Ms: 7, failures: ['chat: 502'], p50Ms: 50, p99Ms: 99 };
    assert.deepEqual(waitsOf([...calls, ...looks]), waits);
  });

  it('are zero if there was none', () => {
    assert.deepEqual(waitsOf([]), { calls: 0, consoleP99Ms: 0, failures: [], p50Ms: 0, p99Ms: 0 });
  });
});
