import { build, createServer } from 'vitepress';

/**
 * Builds the site of the documents into `docs/.site`; a link that leads nowhere fails it.
 *
 *   npm run docs:build
 *   npm run docs          serves it, and shows each change of a page at once
 */
if (process.argv.includes('--serve')) {
  const server = await createServer('docs', { port: 5173 });
  await server.listen();
  server.printUrls();
  server.bindCLIShortcuts({ print: true });
} else {
  await build('docs');
}
