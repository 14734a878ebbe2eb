import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

/*
 * V8 would create objects directly in the old generation if code often creates objects that outlive a collection, such as those of calls in
 * flight. Only a collection of the whole heap frees the old generation. With many concurrent calls, a fifth of their memory was there after
 * some starts and not after others (`bench/promotion.ts`).
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/*
 * After some seconds without calls, V8 would forget the hidden classes of the objects of calls, and with them hundreds of optimized
 * functions. The next thousands of calls then took twice as long (`bench/idle-code.ts`).
 */
setFlagsFromString('--retain-maps-for-n-gc=1000000');
setFlagsFromString('--no-memory-reducer-favors-memory');

/*
 * Keeps compiled code between starts, in the program's directory, to which other users of the machine cannot write. The launcher,
 * `bin/faregate.js`, has the same path: neither file can import it before the cache is enabled. A cache depends on the flags of V8 that are
 * set when it starts. The launcher starts it before the flags above, so there is one cache for each way of starting.
 */
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url)));
const { runCli } = await import('./cli/program.ts');

// A reader such as `head` can close the pipe early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  writeOut: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  stdin: process.stdin,
  stdout: process.stdout,
  isErrorTerminal: process.stderr.isTTY,
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
});
