import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gateRatios, type Recorded, renderGate } from './gate.ts';
import { BARE, type LineResult, type ScenarioResult } from './report.ts';
import { type Figures, parseScenarios } from './scenarios.ts';

const line = (name: string, rounds: Figures[]): LineResult => ({
  name,
  version: '',
  rounds,
  failures: 0,
  firstFailure: null,
});
const [chat, streams] = parseScenarios('chat-64,streams-500');
const results: ScenarioResult[] = [
  {
    scenario: chat!,
    lines: [
      line(BARE, [
        { cpuMicros: 50, bothMicros: 50 },
        { cpuMicros: 100, bothMicros: 100 },
      ]),
      line('local', [
        { cpuMicros: 200, bothMicros: 300 },
        { cpuMicros: 400, bothMicros: 600 },
      ]),
    ],
  },
  {
    scenario: streams!,
    lines: [line(BARE, [{ cpuMicros: 20, kbAStream: 0 }]), line('local', [{ cpuMicros: 25, kbAStream: 60 }])],
  },
];

describe('gate', () => {
  it('compares each round with the bare proxy, unless that has no figures', () => {
    assert.deepEqual(gateRatios(results), {
      local: { cpuACall: 4, bothACall: 6, cpuAChunk: 1.25, memoryAStream: null },
    });
  });

  it('prints each ratio next to the recorded one', () => {
    const recorded: Recorded = {
      recordedAt: '2026-01-02',
      revision: 'abc',
      node: '24',
      machine: 'two cores',
      ratios: { local: { cpuACall: 3.2, bothACall: null, cpuAChunk: null, memoryAStream: 2 } },
    };
    assert.equal(
      renderGate(gateRatios(results), recorded),
      [
        'of a bare proxy                            now        recorded  now : recorded',
        'local, CPU a call                         4.00            3.20            1.25',
        'local, with database                      6.00               -               -',
        'local, CPU a chunk                        1.25               -               -',
        'local, memory a stream                       -            2.00               -',
        'Recorded 2026-01-02 at abc with Node 24 on two cores.',
      ].join('\n'),
    );
  });

  it('explains how to record a first run', () => {
    assert.match(renderGate({}, null), /Nothing was recorded yet: npm run bench -- --gate --record$/);
  });
});
