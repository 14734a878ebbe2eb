import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

const directory = mkdtempSync(join(tmpdir(), 'faregate-patterns-'));
after(() => rmSync(directory, { recursive: true }));

/** Checks a file with these lines. */
function check(...lines: string[]): { status: number | null; output: string } {
  const file = join(directory, 'patterns.ts');
  writeFileSync(file, lines.join('\n'));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check-patterns.ts', file], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

describe('check-patterns', () => {
  it('rejects expressions that take more than linear time, with their position', () => {
    const patterns = [String.raw`/\s*;\s*/`, '/0+$/', '/(a+)+b/', '/^[ab]*[ac]*x$/'];
    const { status, output } = check(
      ...patterns.map((pattern, index) => `export const p${index}: RegExp = ${pattern};`),
    );
    assert.equal(status, 1);
    for (const [index, pattern] of patterns.entries()) {
      assert.match(
        output,
        new RegExp(`patterns\\.ts:${index + 1}: ${escaped(pattern)} can take (quadratic|exponential) time`),
      );
    }
  });

  it('accepts expressions that take linear time', () => {
    const { status, output } = check('export const p = /^[a-z]{1,40}(?:-[a-z]+)*$/;', 'export const q = /[ \\t]/g;');
    assert.equal(status, 0, output);
  });
});

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
