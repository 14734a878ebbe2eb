import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BARE, type LineResult, renderMarkdown, renderText, summarise } from './report.ts';
import { type Figures, parseScenarios } from './scenarios.ts';

const line = (name: string, rounds: Figures[], version = ''): LineResult => ({
  name,
  version,
  rounds,
  failures: 0,
  firstFailure: null,
});
const cpu = (...values: number[]): Figures[] => values.map((cpuMicros) => ({ cpuMicros }));
const [chat] = parseScenarios('chat-64');
const [streams] = parseScenarios('streams-1000');

describe('report', () => {
  it('ratios are computed per round, not from medians', () => {
    // The machine was twice as slow in the second round.
    const lines = [line(BARE, cpu(10, 20, 11)), line('local', cpu(30, 60, 44))];
    const [bare, local] = summarise({ scenario: chat!, lines });
    assert.deepEqual(local!.figures.cpuMicros, { value: 44, toBare: 3, toBefore: null });
    assert.deepEqual(bare!.figures.cpuMicros, { value: 11, toBare: null, toBefore: null });
  });

  it('delays and memory are compared by difference, and missing figures are omitted', () => {
    const lines = [line(BARE, [{ p99Ms: 2, kbAStream: 20 }]), line('peer', [{ p99Ms: 2.5, kbAStream: null }])];
    const { p99Ms, kbAStream } = summarise({ scenario: streams!, lines })[1]!.figures;
    assert.deepEqual([p99Ms!.toBare, kbAStream!.value, kbAStream!.toBare], [0.5, null, null]);
  });

  it('the version after is compared with the line of the same name before', () => {
    const lines = [
      line(BARE, cpu(10, 10)),
      line('PostgreSQL', cpu(40, 50), 'before'),
      line('PostgreSQL', cpu(20, 25), 'after'),
      line('local', cpu(70, 70), 'before'),
    ];
    const summaries = summarise({ scenario: chat!, lines });
    assert.deepEqual(
      summaries.map(({ figures }) => figures.cpuMicros!.toBefore),
      [null, null, 0.5, null],
    );
  });

  it('renders a table for a terminal and one in Markdown, with failures below', () => {
    const failed = { ...line('peer', cpu(25)), failures: 3, firstFailure: '503 down' };
    const result = {
      scenario: { ...chat!, columns: chat!.columns.filter(({ key }) => ['cpuMicros', 'commits'].includes(key)) },
      lines: [line(BARE, cpu(10)), failed],
    };
    assert.equal(
      renderText(result),
      [
        'non-stream chat on a balance, 64 connections (`chat-64`)',
        '',
        '                          CPU µs/call   of bare  commits/call',
        'bare proxy                         10         -             -',
        'peer                               25      2.50             -',
        '',
        'peer: 3 calls failed; error of the first: 503 down',
      ].join('\n'),
    );
    assert.equal(
      renderMarkdown(result),
      [
        '### non-stream chat on a balance, 64 connections (`chat-64`)',
        '',
        '|  | CPU µs/call | of bare | commits/call |',
        '|---|---|---|---|',
        '| bare proxy | 10 | - | - |',
        '| peer | 25 | 2.50 | - |',
        '',
        'peer: 3 calls failed; error of the first: 503 down',
      ].join('\n'),
    );
  });
});
