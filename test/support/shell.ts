import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCommand } from './command.ts';
import { PROGRAM_CACHE } from './process.ts';

/** A shell that runs the commands of documentation pages. */
export interface Shell {
  /**
   * Runs a script of a page verbatim. Its commands `npx faregate …` run in this process, each with the arguments, environment, input and
   * directory of the script. A command that reads a file from a pipe (`-`) runs as a process.
   *
   * Scripts run one at a time.
   *
   * @throws if one of its commands fails
   */
  run(script: string, variables?: Readonly<Record<string, string>>): Promise<{ stdout: string; stderr: string }>;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Without the coverage directory of the test run: child processes are not measured. */
const { NODE_V8_COVERAGE: _, ...inherited } = process.env;

/**
 * The `npx` of the shell. It stores its arguments in a directory and requests the command from this process. It reads its input only if
 * the script redirects it, because the shell's own input never ends.
 */
const PRELUDE = `exec 9<&0
npx() {
  shift
  local given
  for given in "$@"; do
    if [ "$given" = - ]; then "$FAREGATE_TEST_NODE" "$FAREGATE_TEST_MAIN" "$@"; return; fi
  done
  local at code
  at=$(mktemp -d "$FAREGATE_TEST_COMMANDS/XXXXXX")
  printf '%s\\0' "$@" > "$at/arguments"
  env -0 > "$at/environment"
  if [ /dev/fd/0 -ef /dev/fd/9 ]; then : > "$at/input"; else cat > "$at/input"; fi
  curl -sS --unix-socket "$FAREGATE_TEST_COMMANDS/socket" "http://localhost/\${at##*/}"
  cat "$at/stdout"
  cat "$at/stderr" >&2
  return "$(cat "$at/code")"
}
`;

/**
 * Runs scripts one by one, each in its own shell whose input never ends. Forking from this small process is fast; from a process as large
 * as a test it takes tens of milliseconds.
 */
const SCRIPTS = `while IFS= read -r -d '' -u 3 at; do
  code=0
  bash -euo pipefail "$at/script" > "$at/stdout" 2> "$at/stderr" 3<&- || code=$?
  echo "$code"
done`;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Opens a shell in a directory, which becomes the working directory of this process until it is closed, because commands run in this
 * process.
 *
 * @param environment variables in addition to the environment of the tests
 */
export async function openShell(directory: string, environment: Readonly<Record<string, string>>): Promise<Shell> {
  const commands = mkdtempSync(join(tmpdir(), 'faregate-shell-'));
  writeFileSync(join(commands, 'prelude'), PRELUDE);
  const server = createServer(async (request, response) => {
    const file = (name: string): string => join(commands, request.url!, name);
    const texts = (name: string): string[] => readFileSync(file(name), 'utf8').split('\0').slice(0, -1);
    const variables = texts('environment').map((each) => each.split(/=(.*)/s).slice(0, 2));
    const { code, stdout, stderr } = await runCommand(
      texts('arguments'),
      Object.fromEntries(variables),
      readFileSync(file('input'), 'utf8'),
    ).catch((error: Error) => ({ code: 70, stdout: '', stderr: `${error.stack}\n` }));
    for (const [name, text] of Object.entries({ code: String(code), stdout, stderr })) writeFileSync(file(name), text);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(join(commands, 'socket'), resolve));
  const before = process.cwd();
  process.chdir(directory);
  const scripts = spawn('bash', ['-c', SCRIPTS], {
    cwd: directory,
    env: {
      ...inherited,
      ...PROGRAM_CACHE,
      BASH_ENV: join(commands, 'prelude'),
      FAREGATE_TEST_COMMANDS: commands,
      FAREGATE_TEST_NODE: process.execPath,
      FAREGATE_TEST_MAIN: MAIN,
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  const begin = scripts.stdio[3] as Writable;
  const codes = createInterface({ input: scripts.stdout! })[Symbol.asyncIterator]();
  return {
    async run(script, variables = {}) {
      const at = mkdtempSync(join(commands, 'script-'));
      const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
      writeFileSync(join(at, 'script'), exports.join('') + script);
      begin.write(`${at}\0`);
      const code = (await codes.next()).value;
      const [stdout, stderr] = ['stdout', 'stderr'].map((name) => readFileSync(join(at, name), 'utf8')) as [
        string,
        string,
      ];
      if (code !== '0') throw new Error(`It ended with exit code ${code}: ${script}\n${stdout}\n${stderr}`);
      return { stdout, stderr };
    },
    async close() {
      process.chdir(before);
      begin.end();
      await once(scripts, 'close');
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(commands, { recursive: true, force: true });
    },
  };
}
