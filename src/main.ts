import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// The engine notes which places in the code make objects that outlive a collection, as those of calls under way do, and from then
// on has such places make old objects, which only collections of the whole heap free. With many calls at a time that came to a fifth of all
// that calls allocate, in some starts and not in others (`bench/promotion.ts`).
// If this file is started directly, the cache below begins after these flags and is one for them; `bin/faregate.js` has had Node
// begin it before, with no flag set, so that each way of starting has a cache of its own.
setFlagsFromString('--no-allocation-site-pretenuring');

// Code that is compiled for speed depends on the shapes of the objects of calls. When none is under way for some seconds, the engine would
// collect those shapes, and with them hundreds of functions, so that the next thousands of calls took twice as long (`bench/idle-code.ts`).
setFlagsFromString('--retain-maps-for-n-gc=1000000');
setFlagsFromString('--no-memory-reducer-favors-memory');

// Compiled code is kept from one start to the next, beside the program and not where other users of the machine write too. The
// launcher says the same place: neither file can import the other, or a third one, before the cache is there.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url)));
const { runCli } = await import('./cli/program.ts');

// A reader such as `head` may close the pipe early, which is no failure.
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
