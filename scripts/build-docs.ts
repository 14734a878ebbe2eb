import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readApiDocument } from './api-document.ts';
import { apiPages } from './api-pages.ts';
import { requiredTool } from './required-tool.ts';

/**
 * Builds the site of the documents into `docs/.site`; a link that leads nowhere fails it.
 *
 *   npm run docs:build
 *   npm run docs          serves it, and shows each change of a page at once
 *
 * The pages of the APIs are written before, into `docs/api`, which is not kept: they say what this version serves.
 */
const SITE = 'tools/site';

mkdirSync('docs/api', { recursive: true });
for (const [name, text] of Object.entries(apiPages(await readApiDocument()))) {
  writeFileSync(`docs/api/${name}.md`, text);
}

// Which pages there are is read when the configuration of the site is.
const { build, createServer } = await import(pathToFileURL(join(requiredTool('vitepress'), 'dist/node/index.js')).href);
if (process.argv.includes('--serve')) {
  const server = await createServer(SITE, { port: 5173 });
  await server.listen();
  server.printUrls();
  server.bindCLIShortcuts({ print: true });
} else {
  await build(SITE);
}
