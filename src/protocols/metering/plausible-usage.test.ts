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

describe('usage that cannot be true', () => {
  const text = { textBytes: 4_000 };
  const cases: readonly [
    what: string,
    usage: Partial<Usage>,
    of: Partial<DeliveredOutput>,
    doubts: readonly DoubtedSide[],
    basis?: ChargeBasis,
  ][] = [
    ['figures of a text', { inputTokens: 12, outputTokens: 900 }, text, []],
    ['figures that are small for a text, but come behind it', { inputTokens: 12, outputTokens: 1 }, text, []],
    ['zeros of text', {}, text, ['input', 'output']],
    ['zeros of a word', {}, { textBytes: 2 }, ['input', 'output']],
    ['zeros of a sound or a picture', {}, { hasMedia: true }, ['input', 'output']],
    ['zeros of nothing', {}, {}, []],
    ['no output of text', { inputTokens: 12 }, text, ['output']],
    ['no output of nothing', { inputTokens: 12 }, {}, []],
    ['no input of text', { outputTokens: 900 }, text, ['input']],
    ['no input of hidden output', { outputTokens: 900 }, {}, ['input']],
    ['input that the cache had', { cachedInputTokens: 12, outputTokens: 900 }, text, []],
    ['input that was written to the cache', { cacheWriteTokens: 12, outputTokens: 900 }, text, []],
    ['input of a picture alone', { imageInputTokens: 12, outputTokens: 900 }, text, []],
    ['output of a sound alone', { inputTokens: 12, audioOutputTokens: 9 }, text, []],
    ['a report before the text', { inputTokens: 12, outputTokens: 1 }, { ...text, reportedTextBytes: 0 }, ['output']],
    [
      'a report within the text',
      { inputTokens: 12, outputTokens: 500 },
      { ...text, reportedTextBytes: 2_000 },
      ['output'],
    ],
    [
      'a report before the text of all of it',
      { inputTokens: 12, outputTokens: 1_000 },
      { ...text, reportedTextBytes: 0 },
      [],
    ],
    [
      'a report before the last words',
      { inputTokens: 12, outputTokens: 900 },
      { ...text, reportedTextBytes: 3_900 },
      [],
    ],
    [
      'a report before reasoning that is encrypted',
      { inputTokens: 12, outputTokens: 300 },
      { textBytes: 30_000, reportedTextBytes: 8, visibleBytes: 8 },
      [],
    ],
    [
      'zeros behind reasoning that is encrypted',
      { inputTokens: 12 },
      { textBytes: 30_000, visibleBytes: 0 },
      ['output'],
    ],
    ['no input of embeddings', {}, { hasResults: true }, ['input']],
    ['input of embeddings', { inputTokens: 12 }, { hasResults: true }, []],
    ['no search units of ranks', {}, { hasResults: true }, ['searchUnits'], 'searchUnits'],
    ['search units of ranks', { searchUnits: 1 }, { hasResults: true }, [], 'searchUnits'],
    ['nothing of ranks that cost a call', {}, { hasResults: true }, [], 'calls'],
  ];
  for (const [what, usage, of, doubts, basis = 'tokens'] of cases) {
    it(`is ${doubts.length === 0 ? 'nothing' : doubts.join(' and ')} of ${what}`, () => {
      assert.deepEqual(doubtsOf({ ...noUsage, ...usage }, delivered(of), basis), doubts);
    });
  }
});

describe('the output of a stream that is left', () => {
  const cases: readonly [
    what: string,
    reported: number,
    text: number,
    withReport: number,
    unseen: number,
    tokens: number,
  ][] = [
    ['the report that came with the last text', 500, 8_000, 8_000, 0, 500],
    ['the report, and the text behind it by its size', 500, 8_400, 8_000, 0, 600],
    ['the report, if a few words behind it are within its figure', 500, 1_000, 900, 0, 500],
    ['... and with them, if they are not', 5, 120, 20, 0, 30],
    ['the size of the text, without a report', 0, 8_000, 0, 0, 2_000],
    ['the greater of a report before all text and the text', 5, 8_000, 0, 0, 2_000],
    ['... which may be the report', 5, 4, 0, 0, 5],
    ['the size of a text that the report is too small for', 2, 8_000, 8_000, 0, 2_000],
    ['what cannot be seen, if that is more', 5, 40, 0, 900, 900],
    ['the report of what cannot be seen', 500, 40, 40, 900, 500],
  ];
  for (const [what, reported, textBytes, reportedTextBytes, unseen, tokens] of cases) {
    it(`is ${what}`, () => {
      assert.equal(boundedOutput(reported, delivered({ textBytes, reportedTextBytes }), unseen), tokens);
    });
  }
});

describe('reports of output', () => {
  it('are those that state some, and no less than before', () => {
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
