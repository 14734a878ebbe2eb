import fc from 'fast-check';

/**
 * Requests of clients as they are, not as they should be: turns in any order, empty texts, repeated and foreign ids, missing results, odd names,
 * reasoning of this provider and of others, settings that exclude each other. Every text of the content contains a canary, such as `c7c`.
 */

export type Leaf = { readonly kind: 'text' | 'blank' | 'image' | 'link' | 'pdf'; readonly around: string };
export interface Call {
  readonly id: string;
  readonly tool: number;
  readonly input: Readonly<Record<string, unknown>>;
  readonly written: 'object' | 'other' | 'empty';
  /** `null`: the result is missing. */
  readonly result: readonly Leaf[] | null;
  readonly isError: boolean;
}
export interface Exchange {
  readonly user: readonly Leaf[];
  readonly later: readonly Leaf[];
  readonly reasoning: 'none' | 'own' | 'hidden' | 'other' | 'foreign';
  readonly texts: readonly Leaf[];
  readonly calls: readonly Call[];
}
export interface Said {
  readonly system: readonly Leaf[];
  readonly exchanges: readonly Exchange[];
  readonly last: readonly Leaf[];
  readonly toolNames: readonly string[];
  readonly choice: 'absent' | 'auto' | 'none' | 'required' | 'forced';
  readonly parallel: boolean | null;
  readonly schema: object | null;
  readonly isStrict: boolean | null;
  readonly isCustom: boolean;
  readonly isMarked: boolean;
  readonly settings: Settings;
  /** Kinds of objects that have a member nobody knows. */
  readonly odd: readonly ('top' | 'turn' | 'leaf' | 'tool' | 'call' | 'result')[];
}
export interface Settings {
  readonly limit: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly stop: readonly string[];
  readonly effort: string | null;
  readonly budget: number | null;
  readonly format: 'absent' | 'object' | 'schema';
  readonly isStream: boolean;
  readonly hints: readonly string[];
}

const around = fc.oneof(fc.string({ maxLength: 4, unit: 'grapheme' }), fc.constantFrom('"\\\n', '\u2028', 'ü', '</'));
const textLeaf = fc.record({ kind: fc.constant('text' as const), around });
const blank = fc.record({ kind: fc.constant('blank' as const), around: fc.constantFrom('', ' ', '\n\t', '\u00a0') });
const media = fc.record({ kind: fc.constantFrom('image' as const, 'link' as const, 'pdf' as const), around });
const texts = fc.array(fc.oneof({ weight: 5, arbitrary: textLeaf }, blank), { maxLength: 3 });
const leaves = fc.array(fc.oneof({ weight: 6, arbitrary: textLeaf }, blank, media), { maxLength: 3 });
const IDS = ['a', 'a', 'functions.read:0', 'call_ü', 'x'.repeat(70), 'fgid_YQ', '\ud800', ' '];
const call = fc.record({
  id: fc.constantFrom(...IDS),
  tool: fc.nat({ max: 9 }),
  input: fc.dictionary(around, fc.oneof(fc.jsonValue({ maxDepth: 1 }), around), { maxKeys: 2 }),
  written: fc.constantFrom('object' as const, 'object' as const, 'other' as const, 'empty' as const),
  result: fc.option(leaves, { nil: null, freq: 5 }),
  isError: fc.boolean(),
});
const exchange = fc.record({
  user: leaves,
  later: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, texts),
  reasoning: fc.constantFrom<Exchange['reasoning'][]>('none', 'own', 'hidden', 'other', 'foreign'),
  texts,
  calls: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(call, { minLength: 1, maxLength: 3 })),
});

const isOwn = (each: Exchange | undefined): boolean => each?.reasoning === 'own' || each?.reasoning === 'hidden';

/** The provider's own reasoning is of one answer, so what the user says is before and after it. */
const exchanges = fc
  .array(exchange, { maxLength: 3 })
  .map((all) =>
    all.map(
      (each, index): Exchange =>
        isOwn(each) || isOwn(all[index - 1]) ? { ...each, user: [...each.user, A_TEXT] } : each,
    ),
  );
const A_TEXT: Leaf = { kind: 'text', around: '' };

/** A conversation that goes on: what is said after the turns of another one. */
export const more: fc.Arbitrary<readonly Exchange[]> = exchanges.map((all) =>
  all.map((each) => ({ ...each, user: [...each.user, A_TEXT] })),
);
const TOOLS = ['read', 'mcp__files__read', 'a name', 'x'.repeat(80), 'ä', 'exec.run'];
export const HINTS = ['user', 'seed', 'top_k', 'metadata', 'prompt_cache_key', 'frequency_penalty', 'store'];

export const said: fc.Arbitrary<Said> = fc.record({
  system: texts,
  exchanges,
  last: fc.oneof({ weight: 6, arbitrary: leaves }, fc.constant([])),
  toolNames: fc.uniqueArray(fc.constantFrom(...TOOLS), { maxLength: 3 }),
  choice: fc.constantFrom<Said['choice'][]>('absent', 'absent', 'auto', 'none', 'required', 'forced'),
  parallel: fc.option(fc.boolean(), { nil: null }),
  schema: fc.constantFrom({ type: 'object', properties: { path: { type: 'string' } } }, {}, { properties: {} }, null),
  isStrict: fc.option(fc.boolean(), { nil: null }),
  isCustom: fc.boolean(),
  isMarked: fc.boolean(),
  settings: fc.record({
    limit: fc.option(fc.constantFrom(1, 1_025, 4_000, 100_000), { nil: null }),
    temperature: fc.option(fc.constantFrom(0, 0.7, 1, 1.5), { nil: null, freq: 2 }),
    topP: fc.option(fc.constantFrom(0.1, 1), { nil: null, freq: 2 }),
    stop: fc.array(fc.constantFrom('END', 'é'), { maxLength: 2 }),
    effort: fc.option(fc.constantFrom('none', 'minimal', 'low', 'high', 'xhigh'), { nil: null }),
    budget: fc.option(fc.constantFrom(1_024, 50_000), { nil: null }),
    format: fc.constantFrom<Settings['format'][]>('absent', 'absent', 'absent', 'object', 'schema'),
    isStream: fc.boolean(),
    hints: fc.subarray(HINTS),
  }),
  odd: fc.subarray(['top', 'turn', 'leaf', 'tool', 'call', 'result'] as const),
});
