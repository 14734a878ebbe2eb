import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Disables pretenuring: V8 would allocate objects from code whose objects outlive a collection, such as those of calls in flight, in the old
// generation, which only a collection of the whole heap frees. With many concurrent calls, a fifth of their allocations ended up there, in
// some starts and not in others (`bench/promotion.ts`).
// The compile cache depends on the flags at its start. If this file is started directly, the cache below starts after these flags;
// `bin/faregate.js` starts it before them. Each way of starting therefore has a cache of its own.
setFlagsFromString('--no-allocation-site-pretenuring');

// Optimized code depends on the hidden classes of the objects of calls. After some seconds without calls, V8 would collect those classes and
// discard hundreds of optimized functions; the next thousands of calls then took twice as long (`bench/idle-code.ts`).
setFlagsFromString('--retain-maps-for-n-gc=1000000');
setFlagsFromString('--no-memory-reducer-favors-memory');

// Keeps compiled code between starts, in the program's directory, which other users of the machine cannot write to. The launcher has the same
// path: neither file can import the other, or a shared one, before the cache is enabled.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url)));
const { runCli } = await import('./cli/program.ts');

// A reader such as `head` may close the pipe early, which is not an error.
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
