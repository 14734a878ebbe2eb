import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proseAndNames } from '../../scripts/source-words.ts';

const wordsOf = (source: string): string[] => proseAndNames(source).map((line) => line.replace(/\s+/g, ' ').trim());

describe('proseAndNames', () => {
  it('returns comments and the parts of names', () => {
    assert.deepEqual(wordsOf('// Keeps it.\nconst keptUntilMs = 1;\n/** Two\n * lines. */'), [
      '// Keeps it.',
      'const kept Until Ms',
      '/** Two',
      '* lines. */',
    ]);
  });

  it('returns sentences, but no strings of one word', () => {
    assert.deepEqual(wordsOf(`say('provider_reply'); say('no reply came');`), ["say say 'no reply came'"]);
  });

  it('returns sentences in templates, and names in their expressions', () => {
    const template = '`so it took ${sizeOf({ a: `b ${c}` })} of them`; last';
    assert.deepEqual(wordsOf(template), ['`so it took size Of a c } of them last']);
  });

  it('omits SQL and keeps line numbers', () => {
    assert.deepEqual(wordsOf('const text = `select answer\n  from kept\n  where id = 1`;\nnext();'), [
      'const text',
      '',
      '',
      'next',
    ]);
  });

  it('handles escaped quotes', () => {
    assert.deepEqual(wordsOf(`const a = 'it\\'s no end'; after;`), [`const a 'it\\'s no end' after`]);
  });
});
