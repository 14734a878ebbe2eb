import { runCli } from './cli/program.ts';

/** Arguments in, exit code out. */
process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  writeOut: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
