import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { logo, logoContent, showLogo } from './logo.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');
const SVG = '<?xml version="1.0"?>\n<!-- Acme --><svg xmlns="http://www.w3.org/2000/svg"/>';

describe('a logo', () => {
  const directory = mkdtempSync(join(tmpdir(), 'logo-'));
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** Parses a logo whose file has this content. */
  function parse(content: string | Buffer) {
    const file = join(directory, 'logo');
    writeFileSync(file, content);
    return logo.safeParse(file);
  }

  for (const [contentType, content] of [
    ['image/png', PNG],
    ['image/svg+xml', Buffer.from(SVG)],
  ] as const) {
    it(`${contentType}: the type follows from the content, not from the name of the file`, () => {
      const { data = '' } = parse(content);
      assert.deepEqual(logoContent(data), { contentType, bytes: content });
      assert.equal(showLogo(data), `(${contentType}, 1 KiB)`);
    });
  }

  for (const [what, content] of [
    ['a page', '<!doctype html><script>alert(1)</script>'],
    ['text', 'a logo with <svg > in it'],
    ['bytes that are not text', Buffer.from([0xff, 0x3c, 0x73, 0x76, 0x67, 0x3e])],
    ['more than 256 KiB', Buffer.concat([PNG, Buffer.alloc(256 * 1024)])],
    ['nothing', ''],
  ] as const) {
    it(`${what} is refused`, () => assert.equal(parse(content).success, false));
  }

  it('a missing file is refused with what is expected', () => {
    const { error } = logo.safeParse(join(directory, 'absent.png'));
    assert.equal(error?.issues[0]?.message, 'the path of a readable PNG or SVG file of at most 256 KiB');
  });
});
