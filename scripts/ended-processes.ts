import { resolve } from 'node:path';
import type { TestEvent as NodeTestEvent } from 'node:test/reporters';

/** As much as a stack needs. */
const KEPT_LENGTH = 4_000;

/** What node:test knows of a process that ended before it had reported a failure. */
interface ProcessError extends Error {
  readonly failureType?: unknown;
  readonly signal?: unknown;
  readonly exitCode?: unknown;
}

/**
 * A reporter of node:test beside the one for people, which says of a process that was killed or ended by itself only that its
 * file failed. At the end of the run this one says with which signal or code, and what the process wrote last on standard error.
 */
async function* reportEndedProcesses(events: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const written = new Map<string, string>();
  const ended: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:stderr') {
      // Events name a file as the run was asked for it, or whole.
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

/** `null`: a test has failed, and not its process. */
function howItEnded(error: ProcessError): string | null {
  const { signal, exitCode } = error;
  if (typeof signal === 'string') return `was ended by ${signal}`;
  return typeof exitCode === 'number' && error.failureType === 'testCodeFailure' ? `ended with ${exitCode}` : null;
}

const lastOf = (text: string | undefined): string =>
  text === undefined ? 'It wrote nothing on standard error.' : `The last that it wrote on standard error:\n${text}`;

// biome-ignore lint/style/noDefaultExport: this is how node:test takes a reporter
export default reportEndedProcesses;
