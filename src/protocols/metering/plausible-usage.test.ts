import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundedOutput, type DeliveredOutput, doubtsOf, OutputReports } from './plausible-usage.ts';
import { type ChargeBasis, type DoubtedSide, noUsage, type Usage } from './usage-facts.ts';

const delivered = (of: Partial<DeliveredOutput>): DeliveredOutput => ({
  textBytes: 0,
  reportedTextBytes: of.textBytes ?? 0,
  visibleBytes: of.textBytes ?? 0,
  reportedVisibleBytes: of.reportedTextBytes ?? of.textBytes ?? 0,
  hasMedia: false,
  hasResults: false,
  ...of,
});

describe('implausible usage', () => {
  const text = { textBytes: 4_000 };
  const cases: readonly [
    what: string,
    usage: Partial<Usage>,
    of: Partial<DeliveredOutput>,
    doubts: readonly DoubtedSide[],
    basis?: ChargeBasis,
  ][] = [
    ['figures for text', { inputTokens: 12, outputTokens: 900 }, text, []],
    ['figures that are small for the text but were reported after it', { inputTokens: 12, outputTokens: 1 }, text, []],
    ['zeros with text', {}, text, ['input', 'output']],
    ['zeros with a word', {}, { textBytes: 2 }, ['input', 'output']],
    ['zeros with audio or an image', {}, { hasMedia: true }, ['input', 'output']],
    ['zeros without output', {}, {}, []],
    ['no output tokens with text', { inputTokens: 12 }, text, ['output']],
    ['no output tokens without output', { inputTokens: 12 }, {}, []],
    ['no input tokens with text', { outputTokens: 900 }, text, ['input']],
    ['no input tokens with hidden output', { outputTokens: 900 }, {}, ['input']],
    ['input read from the cache', { cachedInputTokens: 12, outputTokens: 900 }, text, []],
    ['input written to the cache', { cacheWriteTokens: 12, outputTokens: 900 }, text, []],
    ['input that is only an image', { imageInputTokens: 12, outputTokens: 900 }, text, []],
    ['output that is only audio', { inputTokens: 12, audioOutputTokens: 9 }, text, []],
    ['a report before the text', { inputTokens: 12, outputTokens: 1 }, { ...text, reportedTextBytes: 0 }, ['output']],
    [
      'a report in the middle of the text',
      { inputTokens: 12, outputTokens: 500 },
      { ...text, reportedTextBytes: 2_000 },
      ['output'],
    ],
    [
      'a report before the text that covers all of it',
      { inputTokens: 12, outputTokens: 1_000 },
      { ...text, reportedTextBytes: 0 },
      [],
    ],
    [
      'a report before the last few words',
      { inputTokens: 12, outputTokens: 900 },
      { ...text, reportedTextBytes: 3_900 },
      [],
    ],
    [
      'a report before encrypted reasoning',
      { inputTokens: 12, outputTokens: 300 },
      { textBytes: 30_000, reportedTextBytes: 8, visibleBytes: 8 },
      [],
    ],
    ['zeros after encrypted reasoning', { inputTokens: 12 }, { textBytes: 30_000, visibleBytes: 0 }, ['output']],
    ['no input tokens for embeddings', {}, { hasResults: true }, ['input']],
    ['input tokens for embeddings', { inputTokens: 12 }, { hasResults: true }, []],
    ['no search units for rankings', {}, { hasResults: true }, ['searchUnits'], 'searchUnits'],
    ['search units for rankings', { searchUnits: 1 }, { hasResults: true }, [], 'searchUnits'],
    ['no figures for rankings that are charged per call', {}, { hasResults: true }, [], 'calls'],
  ];
  for (const [what, usage, of, doubts, basis = 'tokens'] of cases) {
    it(`includes ${doubts.length === 0 ? 'nothing' : doubts.join(' and ')} for ${what}`, () => {
      assert.deepEqual(doubtsOf({ ...noUsage, ...usage }, delivered(of), basis), doubts);
    });
  }
});

describe('the output of a stream that breaks off', () => {
  const cases: readonly [
    what: string,
    reported: number,
    text: number,
    withReport: number,
    unseen: number,
    tokens: number,
  ][] = [
    ['the report received with the last text', 500, 8_000, 8_000, 0, 500],
    ['the report, plus later text by size', 500, 8_400, 8_000, 0, 600],
    ['the report, if it covers a few later words', 500, 1_000, 900, 0, 500],
    ['... and with them, if they are not', 5, 120, 20, 0, 30],
    ['the size of the text if there is no report', 0, 8_000, 0, 0, 2_000],
    ['the greater of the text and a report that precedes it', 5, 8_000, 0, 0, 2_000],
    ['... which may be the report', 5, 4, 0, 0, 5],
    ['the size of a text that is too large for the report', 2, 8_000, 8_000, 0, 2_000],
    ['the unseen tokens, if they are greater', 5, 40, 0, 900, 900],
    ['the report of unseen tokens', 500, 40, 40, 900, 500],
  ];
  for (const [what, reported, textBytes, reportedTextBytes, unseen, tokens] of cases) {
    it(`is ${what}`, () => {
      assert.equal(boundedOutput(reported, delivered({ textBytes, reportedTextBytes }), unseen), tokens);
    });
  }
});

describe('output reports', () => {
  it('are counted if they have output, and no less than before', () => {
    const reports = new OutputReports();
    const counts = [
      { completion_tokens: 0 },
      null,
      { completion_tokens: 5 },
      { prompt_tokens: 9 },
      { output_tokens: '7' },
      { output_tokens: 7 },
      { output_tokens: 3 },
      { output_tokens: -1 },
    ].map((usage) => {
      reports.note(usage);
      return reports.count;
    });
    assert.deepEqual(counts, [0, 0, 1, 1, 2, 3, 3, 3]);
  });
});
