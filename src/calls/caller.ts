import { type RecordedCaller, type Recording, recordingInForce } from '../accounting/accounts/recording.ts';
import { isPlainText } from '../lib/plain-text.ts';

interface CallerSources {
  readonly clientAddress: string;
  readonly userAgent: string | undefined;
  readonly tags: readonly string[] | null;
  endUser(): string | null;
}

const PROGRAM_LENGTH_MAX = 120;

/** Returns the product tokens before the first comment of a user agent: without the system and the hardware; `null`: there are none. */
export function programOf(userAgent: string | undefined): string | null {
  if (userAgent === undefined) return null;
  const comment = userAgent.indexOf('(');
  const products = userAgent
    .slice(0, comment === -1 ? PROGRAM_LENGTH_MAX : Math.min(comment, PROGRAM_LENGTH_MAX))
    .trim();
  return products === '' || !isPlainText(products) ? null : products;
}

/** Returns what is recorded of a caller; `null`: nothing. Tags are always recorded. */
export function callerOf(
  { clientAddress, userAgent, tags, endUser }: CallerSources,
  ...settings: readonly (Recording | null)[]
): RecordedCaller | null {
  const recording = recordingInForce(...settings);
  const caller: { -readonly [Fact in keyof RecordedCaller]: RecordedCaller[Fact] } = {};
  const program = recording.program ? programOf(userAgent) : null;
  const user = recording.endUser ? endUser() : null;
  if (recording.clientAddress && clientAddress !== '') caller.clientAddress = clientAddress;
  if (program !== null) caller.program = program;
  if (user !== null) caller.endUser = user;
  if (tags !== null) caller.tags = tags;
  return Object.keys(caller).length === 0 ? null : caller;
}
