import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Disables pretenuring. V8 would allocate objects directly in the old generation if code often creates objects that outlive a collection,
// such as those of calls in flight. Only a collection of the whole heap frees the old generation. With many concurrent calls, a fifth of
// their allocations ended up there after some starts and not after others (`bench/promotion.ts`).
//
// The compile cache depends on the flags that are set when it starts. If this file is started directly, the cache starts after these flags;
// `bin/faregate.js` starts it before them. Each way of starting therefore has a separate cache.
setFlagsFromString('--no-allocation-site-pretenuring');

// Optimized code depends on the hidden classes of the objects of calls. After some seconds without calls, V8 would collect those classes and
// discard hundreds of optimized functions; the next thousands of calls then took twice as long (`bench/idle-code.ts`).
setFlagsFromString('--retain-maps-for-n-gc=1000000');
setFlagsFromString('--no-memory-reducer-favors-memory');

// Keeps compiled code between starts, in the program's directory, to which other users of the machine cannot write. The launcher uses the
// same path: neither file can import it from the other, or from a shared file, before the cache is enabled.
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
});
