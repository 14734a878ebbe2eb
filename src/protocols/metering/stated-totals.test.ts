import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readChatUsage } from '../chat/usage.ts';
import { readResponsesUsage } from '../responses/usage.ts';
import type { Usage } from './usage-facts.ts';

describe('a cache whose writes alone have names of the messages protocol', () => {
  it('is outside an input that is too small for it, including the reads that chat names', () => {
    const details = { cached_tokens: 500, cached_creation_tokens: 300 };
    const stated = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60, prompt_tokens_details: details };
    const usage = readChatUsage({ ...stated, claude_cache_creation_5_m_tokens: 300 })!;
    assert.deepEqual([usage.inputTokens, usage.cachedInputTokens, usage.cacheWriteTokens], [10, 500, 300]);
  });
});

describe('separately priced tokens outside the totals', () => {
  const stated = { prompt_tokens: 10, completion_tokens: 50, citation_tokens: 700, reasoning_tokens: 300 };
  for (const [what, beyond] of [
    ['none of them', 0],
    ['all of them', 1_000],
    ['the citations', 700],
    ['the reasoning', 300],
  ] as const) {
    it(`do not count as output too if the total includes ${what}`, () => {
      const usage = readChatUsage({ ...stated, total_tokens: 60 + beyond })!;
      const { outputTokens, citationTokens, separateReasoningTokens, unexplained } = usage;
      assert.deepEqual([outputTokens, citationTokens, separateReasoningTokens, unexplained], [50, 700, 300, undefined]);
    });
  }

  it('count as output only if nothing but the reasoning is reported and the total includes it', () => {
    const { citation_tokens: _, ...others } = stated;
    const usage = readChatUsage({ ...others, total_tokens: 360 })!;
    assert.deepEqual([usage.outputTokens, usage.separateReasoningTokens], [350, 0]);
  });
});

/** The actual usage of a call: full input, cache reads and writes, visible output, reasoning. */
interface Truth {
  readonly full: number;
  readonly read: number;
  readonly written: number;
  readonly text: number;
  readonly reasoning: number;
}

/** How a vendor or relay reports it. */
interface Dialect {
  readonly reasoning: 'inside' | 'beside' | 'unstated';
  /** The cache tokens that the input excludes. */
  readonly outside: 'nothing' | 'all' | 'written' | 'read';
  /** Whether the total includes what the input excludes. */
  readonly isInTotal: boolean;
  readonly names: 'details' | 'messages';
}

const dialects: readonly Dialect[] = (['inside', 'beside', 'unstated'] as const).flatMap((reasoning) =>
  (['nothing', 'all', 'written', 'read'] as const).flatMap((outside) =>
    [true, false].flatMap((isInTotal) =>
      (['details', 'messages'] as const).map((names) => ({ reasoning, outside, isInTotal, names })),
    ),
  ),
);

interface Totals {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly reasoning: number;
}

function totalsOf({ full, read, written, text, reasoning }: Truth, dialect: Dialect): Totals {
  const left = { nothing: 0, all: read + written, written, read }[dialect.outside];
  const output = dialect.reasoning === 'inside' ? text + reasoning : text;
  const input = full + read + written - left;
  return {
    input,
    output,
    total: input + (dialect.isInTotal ? left : 0) + text + reasoning,
    reasoning: dialect.reasoning === 'unstated' ? 0 : reasoning,
  };
}

const cacheOf = ({ read, written }: Truth, { names }: Dialect, details: string): object =>
  names === 'messages'
    ? { cache_read_input_tokens: read, cache_creation_input_tokens: written }
    : { [details]: { cached_tokens: read, cache_write_tokens: written } };

/** Both protocols report the same totals under their own names. */
const readings: Readonly<Record<string, (truth: Truth, dialect: Dialect) => Usage>> = {
  chat(truth, dialect) {
    const { input, output, total, reasoning } = totalsOf(truth, dialect);
    return readChatUsage({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: total,
      ...cacheOf(truth, dialect, 'prompt_tokens_details'),
      completion_tokens_details: { reasoning_tokens: reasoning },
    })!;
  },
  responses(truth, dialect) {
    const { input, output, total, reasoning } = totalsOf(truth, dialect);
    return readResponsesUsage({
      input_tokens: input,
      output_tokens: output,
      total_tokens: total,
      ...cacheOf(truth, dialect, 'input_tokens_details'),
      output_tokens_details: { reasoning_tokens: reasoning },
    })!;
  },
};

const billedOf = (usage: Usage) => [
  usage.inputTokens,
  usage.cachedInputTokens,
  usage.cacheWriteTokens,
  usage.outputTokens,
];
const billOf = ({ full, read, written, text, reasoning }: Truth) => [full, read, written, text + reasoning];

/** Few values, so that many figures are equal. */
const COUNTS = [0, 100, 200, 300];
function eachTruth(take: (truth: Truth) => void): void {
  for (const full of COUNTS.slice(1))
    for (const read of COUNTS)
      for (const written of COUNTS)
        for (const text of COUNTS.slice(1))
          for (const reasoning of COUNTS) take({ full, read, written, text, reasoning });
}

describe('input and output that only the total includes', () => {
  for (const [protocol, read] of Object.entries(readings)) {
    /** Actual dialects of vendors, which must be distinguished even if figures are equal. */
    const exact: readonly [what: string, dialect: Dialect][] = [
      ['OpenAI: all inside', { reasoning: 'inside', outside: 'nothing', isInTotal: true, names: 'details' }],
      [
        'xAI: reported reasoning outside the output',
        { reasoning: 'beside', outside: 'nothing', isInTotal: true, names: 'details' },
      ],
      ['LiteLLM: the cache beside', { reasoning: 'inside', outside: 'all', isInTotal: true, names: 'messages' }],
    ];
    for (const [what, dialect] of exact) {
      it(`are read exactly in ${protocol}, even if figures are equal (${what})`, () => {
        eachTruth((truth) => {
          assert.deepEqual(billedOf(read(truth, dialect)), billOf(truth), JSON.stringify(truth));
        });
      });
    }

    it(`are read exactly in ${protocol} from relays that exclude the cache, in any spelling, unless reasoning is equal to it`, () => {
      const relay: Dialect = { reasoning: 'inside', outside: 'all', isInTotal: true, names: 'details' };
      eachTruth((truth) => {
        if (truth.reasoning > 0 && truth.reasoning === truth.read + truth.written) return;
        assert.deepEqual(billedOf(read(truth, relay)), billOf(truth), JSON.stringify(truth));
      });
    });

    it(`match one of the dialects in ${protocol}, never a mixture`, () => {
      eachTruth((truth) => {
        for (const dialect of dialects) {
          const { input, output, total, reasoning } = totalsOf(truth, dialect);
          const usage = read(truth, dialect);
          const [full, cached, written, out] = billedOf(usage) as [number, number, number, number];
          const isPossible = dialects.some((other) => {
            if (other.names !== dialect.names) return false;
            // The reasoning is reported, or implied by the output.
            const own = other.reasoning === 'unstated' ? out - output : reasoning;
            const again = totalsOf({ full, read: cached, written, text: out - own, reasoning: own }, other);
            return (
              again.input === input && again.output === output && again.total === total && again.reasoning === reasoning
            );
          });
          // No dialect has a cache that exceeds the input and is cut to it.
          const isCut = cached + written < truth.read + truth.written;
          assert.ok(isPossible || isCut, JSON.stringify({ truth, dialect, usage: billedOf(usage) }));
        }
      });
    });
  }
});
