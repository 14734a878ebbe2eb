import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAMILIES, familyFactor } from './families.ts';

describe('familyFactor', () => {
  const names: readonly [factor: number, names: readonly string[]][] = [
    [
      1.2,
      [
        ...[
          'claude-2.1',
          'claude-instant-1.2',
          'claude-3-opus-20240229',
          'claude-3-5-sonnet-20241022',
          'claude-3.7-sonnet',
        ],
        ...[
          'claude-sonnet-4-20250514',
          'claude-opus-4@20250514',
          'claude-opus-4',
          'claude-opus-4-0',
          'claude-opus-4-1',
        ],
        ...[
          'claude-sonnet-4-5-20250929',
          'claude-haiku-4-5',
          'claude-4.5-sonnet',
          'claude-4-sonnet',
          'claude-opus-4-6',
        ],
        ...['anthropic/claude-opus-4.6', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'Claude-Sonnet-4-6'],
      ],
    ],
    [
      1.55,
      [
        ...['claude-opus-4-7', 'claude-opus-4.7', 'claude-opus-4-8-20260101', 'claude-opus-4-10', 'claude-4.7-opus'],
        ...['claude-sonnet-5', 'claude-opus-5', 'claude-fable-5', 'mythos-5', 'claude-mythos-5', 'claude-latest'],
        ...['anthropic/claude-opus-4.7', 'claude-opus-40', 'claude-10-opus'],
      ],
    ],
    [
      1,
      [
        ...['gpt-4o', 'gpt-5.2', 'o3-mini', 'openai/o4-mini', 'codex-mini', 'deepseek-v3.1', 'qwen3-max', 'glm-4.5'],
        ...['kimi-k2', 'gemini-3-pro', 'mythomax-13b', 'some-model', ''],
      ],
    ],
  ];
  for (const [factor, list] of names) {
    for (const name of list) it(`is ${factor} for "${name}"`, () => assert.equal(familyFactor(name), factor));
  }

  it('accepts a name of any length', () => {
    assert.equal(familyFactor('claude-4-9-'.repeat(50_000)), 1.55);
    assert.equal(familyFactor('gpt'.repeat(50_000)), 1);
  });

  it('has a source for the factor of every family', () => {
    for (const { factor, source } of FAMILIES) assert.ok(factor >= 1 && source !== '');
  });
});
