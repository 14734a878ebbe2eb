import { resolve } from 'node:path';
import type { TestEvent as NodeTestEvent } from 'node:test/reporters';

/** Enough for a stack trace. */
const KEPT_LENGTH = 4_000;

/** The error of node:test for a process that exited before it reported a failure. */
interface ProcessError extends Error {
  readonly failureType?: unknown;
  readonly signal?: unknown;
  readonly exitCode?: unknown;
}

/**
 * An additional node:test reporter for processes that were killed or exited. The standard reporter only says that the file failed. This one
 * reports the signal or exit code, and the last output on standard error.
 */
async function* reportEndedProcesses(events: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const written = new Map<string, string>();
  const ended: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:stderr') {
      // Events have the path as given to the run, or the absolute path.
      const file = resolve(data.file);
      written.set(file, `${written.get(file) ?? ''}${data.message}`.slice(-KEPT_LENGTH));
    } else if (type === 'test:fail' && data.file !== undefined) {
      const how = howItEnded(data.details.error);
      if (how !== null)
        ended.push(`\nThe process of ${data.name} ${how}. ${lastOf(written.get(resolve(data.file)))}\n`);
    }
  }
  yield* ended;
}

/** `null`: a test failed, not its process. */
function howItEnded(error: ProcessError): string | null {
  const { signal, exitCode } = error;
  if (typeof signal === 'string') return `was killed by ${signal}`;
  return typeof exitCode === 'number' && error.failureType === 'testCodeFailure' ? `exited with ${exitCode}` : null;
}

const lastOf = (text: string | undefined): string =>
  text === undefined ? 'It wrote nothing on standard error.' : `Its last output on standard error:\n${text}`;

// biome-ignore lint/style/noDefaultExport: node:test requires it
export default reportEndedProcesses;
