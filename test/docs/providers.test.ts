import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { configSchema } from '../../src/config/schema.ts';
import { runProgram, temporaryDirectory } from '../support/process.ts';

/** `faregate check` accepts every example on the page about providers. */

const PAGE = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
const directory = temporaryDirectory();
const credentialFile = join(directory.path, 'key');
writeFileSync(credentialFile, 'a-key\n');

const examples = [...PAGE.matchAll(/^## (.*)\n(?:(?!^## )[\s\S])*?^```yaml\n([\s\S]*?)^```$/gm)].map(
  ([, title, text]) => ({ title: title!, text: text!.replace('/run/secrets/acme-key', credentialFile) }),
);
const KEYS = {
  ACME_API_KEY: 'a-key',
  ROUTER_API_KEY: 'a-key',
  ON_PREMISES_KEY: 'a-key',
  AZURE_OPENAI_API_KEY: 'a-key',
};

describe('docs/providers.md', () => {
  after(() => directory.remove());

  for (const { title, text } of examples) {
    it(`has a valid example: ${title}`, () => {
      assert.ok(Object.keys(parseConfig(text, 'faregate.yaml', KEYS).providers).length > 0);
    });
  }

  it('has examples that the command accepts', async () => {
    const file = join(directory.path, 'faregate.yaml');
    const parts = examples.map(({ text }) => text.split('providers:\n'));
    const providers = parts.map(([, of], i) => of!.replaceAll(/^ {2}([\w-]+):$/gm, `  $1-${i}:`));
    writeFileSync(file, `${parts.map(([before]) => before).join('')}providers:\n${providers.join('')}`);
    const { code, stderr } = await runProgram(['check', '--config', file], {
      environment: KEYS,
      directory: directory.path,
    });
    assert.equal(code, 0, stderr);
  });

  it('names every setting of a provider, and its defaults', () => {
    assert.equal(examples.length, 9);
    const { providers } = configSchema.shape;
    for (const name of Object.keys(providers.unwrap().valueType.shape)) {
      assert.ok(PAGE.includes(`\`${name}\``), `${name} is not on the page`);
    }
    const { connections, queue, timeouts } = parseConfig(examples[0]!.text, 'f', KEYS).providers.acme!;
    assert.ok(PAGE.includes(`\`connections\` (${connections} unless set)`));
    assert.ok(PAGE.includes(`\`queue.length\` (${queue.length})`));
    assert.ok(PAGE.includes(`\`queue.wait\` (${queue.wait / 1000}s)`));
    const { connect, firstByte, idle } = timeouts;
    const written = `{ connect: ${connect / 1000}s, firstByte: ${firstByte / 1000}s, idle: ${idle / 1000}s }`;
    assert.ok(PAGE.includes(`timeouts: ${written}`));
  });
});
