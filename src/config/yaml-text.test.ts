import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { Dice } from '../lib/dice.ts';
import { isRecord } from '../lib/json/json.ts';
import { ConfigError } from './load.ts';
import { type EditPath, editYaml, parseYaml, plainValue } from './yaml-text.ts';

const TEXT = `# Catalog of 2026
models:
  # The large one
  acme-large:
    price: { input: 4.10, output: "16" }   # negotiated
    routes:
      - provider: acme   # first
        model: large-1
      - { provider: spare, model: large-2 }

  tiny:
    aliases: [small, little]
groups:   # none yet
plans: {}
`;

const cases: readonly { does: string; path: EditPath; value?: unknown; was: string; is: string }[] = [
  {
    does: 'replaces a scalar',
    path: ['models', 'acme-large', 'price', 'output'],
    value: '14',
    was: 'output: "16" }   # negotiated',
    is: 'output: "14" }   # negotiated',
  },
  { does: 'keeps an equal scalar', path: ['models', 'acme-large', 'price', 'input'], value: '4.10', was: '', is: '' },
  {
    does: 'changes only what differs in a section',
    path: ['models', 'acme-large', 'price'],
    value: { input: '4.10', output: '14', cachedInput: '1' },
    was: '"16" }',
    is: '"14", cachedInput: "1" }',
  },
  {
    does: 'adds an item',
    path: ['models', 'acme-large', 'routes', 2],
    value: { provider: 'third', model: '3' },
    was: 'model: large-2 }\n',
    is: 'model: large-2 }\n      - provider: third\n        model: "3"\n',
  },
  {
    does: 'deletes the first key of an item',
    path: ['models', 'acme-large', 'routes', 0, 'provider'],
    was: '- provider: acme   # first\n        model',
    is: '- model',
  },
  {
    does: 'fills an empty key',
    path: ['groups', 'gold', 'name'],
    value: 'Gold',
    was: 'groups:   # none yet\n',
    is: 'groups:   # none yet\n  gold:\n    name: Gold\n',
  },
  {
    does: 'fills an empty section',
    path: ['plans', 'pro', 'name'],
    value: 'Pro',
    was: 'plans: {}\n',
    is: 'plans:\n  pro:\n    name: Pro\n',
  },
  {
    does: 'deletes a section and keeps the comment above it',
    path: ['models', 'tiny'],
    was: '  tiny:\n    aliases: [small, little]\n',
    is: '',
  },
  { does: 'leaves an empty list', path: ['models', 'tiny', 'aliases'], value: [], was: '[small, little]', is: '[]' },
  {
    does: 'adds a section at the end',
    path: ['billing', 'timezone'],
    value: 'UTC',
    was: 'plans: {}\n',
    is: 'plans: {}\nbilling:\n  timezone: UTC\n',
  },
  {
    does: 'writes text of several lines',
    path: ['models', 'tiny', 'description'],
    value: 'One.\n\nTwo.\n',
    was: 'little]\n',
    is: 'little]\n    description: |\n      One.\n\n      Two.\n',
  },
  { does: 'does not delete what is absent', path: ['models', 'none', 'price'], was: '', is: '' },
];

describe('editYaml', () => {
  for (const { does, path, value, was, is } of cases) {
    it(does, () => {
      assert.ok(TEXT.includes(was));
      assert.equal(editYaml(TEXT, [{ path, value }]), TEXT.replace(was, is));
    });
  }

  it('applies edits one after another', () => {
    const edits = [
      { path: ['models', 'tiny', 'price'], value: { input: '1' } },
      { path: ['models', 'tiny', 'price', 'input'], value: '2' },
      { path: ['models', 'tiny', 'aliases', 0] },
      { path: ['models', 'tiny', 'aliases', 0], value: 'mini' },
    ];
    assert.deepEqual(valuesOf(editYaml(TEXT, edits)).models.tiny, { aliases: ['mini'], price: { input: '2' } });
  });

  it('does not change an anchor through its alias', () => {
    const text = 'models:\n  a: &p { price: { input: "1" } }\n  b: *p\n';
    const edited = editYaml(text, [{ path: ['models', 'b', 'price', 'input'], value: '2' }]);
    assert.deepEqual(valuesOf(edited), { models: { a: { price: { input: '1' } }, b: { price: { input: '2' } } } });
  });

  it('starts with an empty text, and keeps its comments', () => {
    assert.equal(editYaml('# head', [{ path: ['a', 0], value: 1 }]), '# head\na:\n  - 1\n');
  });

  it('keeps line breaks of Windows', () => {
    const edited = editYaml('a:\r\n  b: 1 # c\r\n  d: 2\r\n', [{ path: ['a', 'b'], value: { x: '1' } }]);
    assert.deepEqual(valuesOf(edited), { a: { b: { x: '1' }, d: '2' } });
  });

  it('refuses a text that is not YAML, with the line', () => {
    assert.throws(
      () => editYaml('a: 1\nb: "', []),
      (error: ConfigError) => error instanceof ConfigError && error.problems[0]!.line === 2,
    );
  });

  // A form that changes one price must not change another one.
  it('changes the value at the path and no other, whatever the style of the text', () => {
    for (let seed = 0; seed < 300; seed++) {
      const dice = new Dice(seed);
      const value = randomSection(dice, 3);
      const text = styled(value, dice);
      const before = valuesOf(text);
      const path = randomPath(before, dice);
      const change = dice.one([undefined, '14', 'a: b', 'x\n\ny\n', [], {}, ['1', { a: '2' }], { a: '3', b: ['4'] }]);
      const edited = editYaml(text, [{ path, value: change }]);
      const context = `seed ${seed}: ${JSON.stringify({ path, change })}\n${text}\n---\n${edited}`;
      assert.deepEqual(tidy(valuesOf(edited) ?? {}), tidy(replaced(before, path, change)), context);
      const former = path.reduce(memberOf, before);
      const isInBlocks = !text.includes('{') && typeof former === 'string' && !former.includes('\n');
      if (change === '14' && isInBlocks) assert.ok(linesBesides(edited, text) <= 1, context);
    }
  });
});

// biome-ignore lint/suspicious/noExplicitAny: the tests know the shape of their texts
function valuesOf(text: string): any {
  const document = parseYaml(text);
  return plainValue(document.contents, document);
}

function randomSection(dice: Dice, depth: number): Record<string, unknown> {
  const keys = ['a', 'b-c', 'gpt-4.1', 'd', 'x y'].filter(() => dice.happens(0.6));
  return Object.fromEntries([...keys, 'z'].map((key) => [key, randomValue(dice, depth)]));
}

function randomValue(dice: Dice, depth: number): unknown {
  if (depth === 0 || dice.happens(0.3)) return dice.one(['16', 'text', '${NAME}', '4.10', 'a # b', 'p\nq\n', '']);
  if (dice.happens(0.4)) return Array.from({ length: dice.upTo(3) }, () => randomValue(dice, depth - 1));
  return randomSection(dice, depth - 1);
}

/** Writes a section with comments, blank lines, and values in different styles. */
function styled(value: unknown, dice: Dice): string {
  const text = stringify(value, {
    lineWidth: 0,
    indent: 2 + dice.upTo(2),
    indentSeq: dice.happens(0.5),
    defaultStringType: dice.one(['PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE']),
    defaultKeyType: 'PLAIN',
    collectionStyle: dice.happens(0.3) ? 'flow' : 'any',
  });
  if (text.startsWith('{') || /[|>]-?\n|['"]p\n/.test(text)) return text;
  return text.replace(/\n/g, () => dice.one(['\n', '\n', '\n\n', `   # c${dice.upTo(999)}\n`]));
}

function memberOf(value: unknown, key: string | number): unknown {
  return (value as Record<string | number, unknown> | undefined)?.[key];
}

function linesBesides(text: string, other: string): number {
  const lines = new Set(other.split('\n'));
  return text.split('\n').filter((line) => !lines.has(line)).length;
}

function randomPath(value: unknown, dice: Dice): EditPath {
  const isList = Array.isArray(value);
  if (!isList && !isRecord(value)) return [];
  const keys = isList ? [...value.keys(), value.length] : [...Object.keys(value), 'new'];
  const key = dice.one<string | number>(keys);
  const below = (value as Record<string | number, unknown>)[key];
  return dice.happens(0.3) ? [key] : [key, ...randomPath(below, dice)];
}

function replaced(value: unknown, [key, ...rest]: EditPath, change: unknown): unknown {
  if (key === undefined) return change;
  const copy: Record<string | number, unknown> = Array.isArray(value)
    ? ([...value] as unknown as Record<number, unknown>)
    : { ...(isRecord(value) ? value : {}) };
  copy[key] = replaced(copy[key], rest, change);
  return Array.isArray(copy) ? copy.filter((item) => item !== undefined) : copy;
}

/** An empty section and an absent one are equal. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, tidy(member)] as const);
  return Object.fromEntries(
    members.filter(([, member]) => member !== undefined && !(isRecord(member) && Object.keys(member).length === 0)),
  );
}
