import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { readSecret } from './secret-input.ts';

function processWith(chunks: readonly string[] | null, isTerminal = false) {
  const said: string[] = [];
  const modes: boolean[] = [];
  const stdin = chunks === null ? undefined : Readable.from(chunks);
  if (isTerminal) Object.assign(stdin!, { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const given = {
    environment: {},
    writeOut: () => assert.fail('nothing is printed'),
    writeError: (text: string) => void said.push(text),
    ...(stdin !== undefined && { stdin }),
  };
  return { said, modes, read: () => readSecret(given, 'the credential') };
}

describe('a secret on standard input', () => {
  it('is all of it, without surrounding white space', async () => {
    const { said, read } = processWith([' canary', '-text\n']);
    assert.equal(await read(), 'canary-text');
    assert.deepEqual(said, []);
  });

  it('is the line that is typed in a terminal, which does not show it', async () => {
    const { said, modes, read } = processWith(['cana', 'rx\u007fy-text\rnot this'], true);
    assert.equal(await read(), 'canary-text');
    assert.deepEqual(modes, [true, false]);
    assert.ok(!said.join('').includes('canary'));
  });

  it('can be interrupted in a terminal', async () => {
    const { modes, read } = processWith(['canary\u0003'], true);
    await assert.rejects(read(), /^CliError: Interrupted/);
    assert.deepEqual(modes, [true, false]);
  });

  it('must be there', async () => {
    await assert.rejects(processWith(null).read(), /There is no standard input to read the credential from/);
    await assert.rejects(processWith(['\n']).read(), /Standard input is empty/);
    await assert.rejects(processWith(['\r'], true).read(), /Standard input is empty/);
  });

  it('has a maximum length', async () => {
    for (const isTerminal of [false, true]) {
      await assert.rejects(processWith(['x'.repeat(70_000)], isTerminal).read(), /too long/);
    }
  });
});
