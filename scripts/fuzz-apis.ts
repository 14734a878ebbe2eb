import { type FuzzReport, fuzz } from '../test/fuzz/fuzz.ts';
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts';
import { readOptions } from './read-options.ts';

/**
 * `npm run fuzz:apis -- --minutes 60 [--seed N]`: sends requests to every address of `/openapi.json` with every kind of credential, with
 * values that the schemas allow or nearly allow. Exit code 1 if a response is a gateway failure, is unexpectedly long, blocks the main
 * thread for long, or reveals data of another account.
 */

const { minutes, seed } = readOptions({ minutes: 1, seed: Date.now() % 2 ** 31 });
if (!(minutes > 0) || !Number.isInteger(seed)) throw new RangeError('--minutes and --seed are numbers');

await globalSetup();
const beganMs = Date.now();
let shown = 0;
const report = await fuzz(
  { seed, requestsMax: Number.POSITIVE_INFINITY, untilMs: beganMs + minutes * 60_000 },
  ({ requests, violations }: FuzzReport) => {
    for (; shown < violations.length; shown++) console.log(violations[shown]);
    console.error(
      `${Math.round((Date.now() - beganMs) / 1_000)} s: ${requests} requests, ${violations.length} violations`,
    );
  },
);
const statuses = [...report.statuses].sort().map(([status, count]) => `${status}: ${count}`);
console.log(`${report.requests.toLocaleString('en')} requests with seed ${seed} in ${minutes} min
statuses: ${statuses.join(', ')}
longest unexpected response: ${report.largestBytes} bytes; longest use of the main thread: ${report.longestBusyMs.toFixed(0)} ms
never succeeded: ${report.neverDone.join(', ') || 'none'}
${report.violations.length} violations`);
await globalTeardown();
process.exitCode = report.violations.length === 0 ? 0 : 1;
