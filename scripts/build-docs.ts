import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readApiDocument } from './api-document.ts';
import { apiPages } from './api-pages.ts';
import { requiredTool } from './required-tool.ts';

/**
 * Builds the documentation site into `docs/.site`. Fails for broken links.
 *
 *   npm run docs:build
 *   npm run docs          serves the site, prints its address, and reloads changed pages
 *
 * First generates the API pages of this version into `docs/api`, which is not committed.
 */
const SITE = 'tools/site';

console.log('Generating the pages of the API …');
mkdirSync('docs/api', { recursive: true });
for (const [name, text] of Object.entries(apiPages(await readApiDocument()))) {
  writeFileSync(`docs/api/${name}.md`, text);
}

// The site configuration lists the pages when it is loaded.
const { build, createServer } = await import(pathToFileURL(join(requiredTool('vitepress'), 'dist/node/index.js')).href);
if (process.argv.includes('--serve')) {
  const server = await createServer(SITE, { port: 5173 });
  await server.listen();
  // VitePress sets the log level of Vite to warnings, which hides the address.
  const [address] = server.resolvedUrls.local;
  console.log(`The documents are at ${address} (Ctrl-C stops)`);
} else {
  await build(SITE);
}
