import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { PARTS } from './ablate.ts';
import { SWITCHED } from './observer-switch.ts';
import { replaced } from './replace-on-load.ts';

describe('code that benches replace in the gateway', () => {
  for (const [name, replacements] of Object.entries({ ...PARTS, observability: SWITCHED })) {
    it(`exists: ${name}`, () => {
      for (const replacement of replacements) replaced(readFileSync(`src/${replacement.file}`, 'utf8'), replacement);
    });
  }
});
