/**
 * Retakes the reference screenshots of `test/console/pages/every-page.test.ts`.
 *
 *   npm run console:pictures
 *
 * Requires the system's Chromium and a built console. Review the differences (`git diff --stat test/console/pages/pictures`) before
 * committing them.
 */
process.env.FAREGATE_WRITE_PICTURES = '1';
process.argv.push('test/console/pages/every-page.test.ts');
await import('./test.ts');

export {};
