import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proseAndNames } from '../../scripts/source-words.ts';

const wordsOf = (source: string): string[] => proseAndNames(source).map((line) => line.replace(/\s+/g, ' ').trim());

describe('the words of a source file', () => {
  it('are its comments, and the parts of its names', () => {
    assert.deepEqual(wordsOf('// Keeps it.\nconst keptUntilMs = 1;\n/** Two\n * lines. */'), [
      '// Keeps it.',
      'const kept Until Ms',
      '/** Two',
      '* lines. */',
    ]);
  });

  it('are sentences, and not text of one word, which may be of the wire', () => {
    assert.deepEqual(wordsOf(`say('provider_reply'); say('no reply came');`), ["say say 'no reply came'"]);
  });

  it('are sentences in templates, and names in their expressions', () => {
    const template = '`so it took ${sizeOf({ a: `b ${c}` })} of them`; last';
    assert.deepEqual(wordsOf(template), ['`so it took size Of a c } of them last']);
  });

  it('have no SQL, and keep the numbers of lines', () => {
    assert.deepEqual(wordsOf('const text = `select answer\n  from kept\n  where id = 1`;\nnext();'), [
      'const text',
      '',
      '',
      'next',
    ]);
  });

  it('are found behind quotes that are escaped', () => {
    assert.deepEqual(wordsOf(`const a = 'it\\'s no end'; after;`), [`const a 'it\\'s no end' after`]);
  });
});
