import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

/**
 * Ends a process whose tests have all ended and which something keeps alive: a server, say, that a failed hook has left open.
 * It would keep the whole run waiting for ever. The run fails, because what was left open is a mistake of the tests.
 */

/**
 * Far longer than connections take to close, and databases to be dropped, which waits for every backend of the server that
 * all processes share (`test/support/postgres-server.ts`).
 */
const GRACE_MS = Number(process.env.FAREGATE_TEST_END_MS ?? 60_000);

/** Programs that tests start with `fork` get this module too. */
const isOfTests = process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '');

if (isOfTests && isMainThread) {
  after(() => {
    const late = setTimeout(() => {
      const left = process.getActiveResourcesInfo().join(', ');
      console.error(`All tests of ${process.argv[1]} have ended, but not their process. It is kept by: ${left}`);
      process.exit(1);
    }, GRACE_MS);
    late.unref();
  });
}
