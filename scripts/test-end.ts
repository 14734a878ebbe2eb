import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

/**
 * Exits a process whose tests have all finished but which an open resource keeps alive, such as a server after a failed hook. Otherwise
 * the whole run would hang. The run fails, because the open resource is a bug of the tests.
 */

/**
 * Far longer than it takes to close connections and to drop databases, which waits for all backends of the shared server
 * (`test/support/postgres-server.ts`).
 */
const GRACE_MS = Number(process.env.FAREGATE_TEST_END_MS ?? 60_000);

/** Programs that tests start with `fork` load this module too. */
const isOfTests = process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '');

if (isOfTests && isMainThread) {
  after(() => {
    const late = setTimeout(() => {
      const left = process.getActiveResourcesInfo().join(', ');
      console.error(`All tests of ${process.argv[1]} have finished, but the process is kept alive by: ${left}`);
      process.exit(1);
    }, GRACE_MS);
    late.unref();
  });
}
