import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';

/** From top to bottom: a file imports from its own folder and from those below it, types too. */
const FOLDERS = ['main.tsx', 'app', 'features', 'layout', 'session', 'parts', 'api', 'text'];
const SOURCE = 'console/src';

const imports = globSync(`${SOURCE}/**/*.{ts,tsx}`).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, target]) => ({
    from: file.slice(SOURCE.length + 1),
    to: join(dirname(file), target!).slice(SOURCE.length + 1),
  })),
);

const placeOf = (file: string): number => FOLDERS.indexOf(file.split('/')[0]!);
const written = ({ from, to }: { from: string; to: string }): string => `${from} imports ${to}`;

describe('the folders of the console', () => {
  it('stand in one order, and none imports from one above it', () => {
    const inFolders = imports.filter(({ to }) => !to.endsWith('.css'));
    assert.ok(inFolders.length > 500);
    assert.deepEqual(inFolders.filter(({ from, to }) => placeOf(from) === -1 || placeOf(to) === -1).map(written), []);
    assert.deepEqual(inFolders.filter(({ from, to }) => placeOf(from) > placeOf(to)).map(written), []);
  });

  it('of features do not know each other', () => {
    const feature = (file: string): string | null => /^features\/([^/]+)\//.exec(file)?.[1] ?? null;
    const across = imports.filter(
      ({ from, to }) => feature(from) !== null && feature(to) !== null && feature(from) !== feature(to),
    );
    assert.deepEqual(across.map(written), []);
  });
});
