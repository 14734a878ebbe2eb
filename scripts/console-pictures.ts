/**
 * Takes anew the pictures that `test/console/pages/every-page.test.ts` compares the pages of the console with.
 *
 *   npm run console:pictures
 *
 * It needs the system's Chromium and a built console. Look at what differs (`git diff --stat test/console/pages/pictures`) before you
 * commit it.
 */
process.env.FAREGATE_WRITE_PICTURES = '1';
process.argv.push('test/console/pages/every-page.test.ts');
await import('./test.ts');

export {};
