import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeDirectory } from '../test/support/local-database.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/**
 * Waits until the output of a program matches a pattern.
 *
 * @throws Error with the output, if the program exits first
 */
export type ReadPrinted = (pattern: RegExp) => Promise<RegExpExecArray>;

export function readPrinted(child: ChildProcess): ReadPrinted {
  let text = '';
  const output = child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const ended = once(child, 'close').then(() => Promise.reject(new Error(`the gateway exited early:\n${text}`)));
  ended.catch(() => undefined);
  return async (pattern) => {
    for (;;) {
      const found = pattern.exec(text);
      if (found !== null) return found;
      await Promise.race([once(output, 'data'), ended]);
    }
  };
}

/** The line with the address that a gateway prints once it serves. */
export const LISTENING = /^listening on (\S+)\n/m;

/** Runs `work` with a gateway of this checkout on temporary data. Without `FAREGATE_CONFIG`, it is the demo. */
export async function withGateway<Result>(
  environment: Readonly<Record<string, string>>,
  work: (printed: ReadPrinted) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-gateway-'));
  const gateway = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, FAREGATE_DATA_DIR: directory, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    return await work(readPrinted(gateway));
  } finally {
    // SIGTERM would wait for load balancers.
    gateway.kill('SIGINT');
    if (gateway.exitCode === null && gateway.signalCode === null) await once(gateway, 'exit');
    removeDirectory(directory);
  }
}
