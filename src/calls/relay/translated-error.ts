import { GatewayError } from '../../errors/gateway-error.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import { AnswerError } from '../../protocols/translation/answer.ts';
import { UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';

/** Words of providers for a context that is too long. Agents summarize their conversation when they read the words of their protocol. */
const CONTEXT_TOO_LONG =
  /prompt is too long|context.?(?:length|window)|maximum context|too many (?:input )?tokens|input (?:is |length |token count )?(?:too long|exceed)/i;

/**
 * The error of a provider that speaks another protocol, for the client: its status and words, but not its `param`, which names a member of a
 * body that the client never sent, nor its `type`, which follows from the status.
 */
export function translatedError(error: GatewayError, { protocol }: Pick<Operation, 'protocol'>): GatewayError {
  const { kind, status, retry, headers, requestId, cause } = error;
  let { message, code } = error;
  const isTooLong = code === 'context_length_exceeded' || (isOfSize(status) && CONTEXT_TOO_LONG.test(message));
  if (isTooLong && protocol.name === 'messages' && !message.startsWith(TOO_LONG)) message = `${TOO_LONG}: ${message}`;
  if (isTooLong && protocol.name !== 'messages') code = 'context_length_exceeded';
  return new GatewayError(kind, {
    message,
    status,
    code,
    retry,
    headers,
    cause,
    ...(requestId !== null && { requestId }),
  });
}

const TOO_LONG = 'prompt is too long';

/** Statuses of requests that are too large. A 429 can speak of too many tokens, too, but of those of a minute. */
const isOfSize = (status: number): boolean => status === 400 || status === 413;

/** The failure of a call whose provider reported an error in place of an answer. */
export function reportedFailure({ message }: GatewayError, requestId: string): UpstreamFailure {
  return new UpstreamFailure('unknown', new GatewayError('upstreamError', { message, requestId }));
}

/** The failure of a call whose answer cannot be translated. @throws other errors, which are faults of the gateway */
export function untranslatable(error: unknown, requestId: string): UpstreamFailure {
  if (!(error instanceof AnswerError) && !(error instanceof JsonSyntaxError)) throw error;
  return unusableSuccess(
    requestId,
    `The answer of the provider cannot be translated: ${error.message}. Nothing is charged.`,
  );
}
