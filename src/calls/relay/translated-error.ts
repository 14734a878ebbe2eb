import { GatewayError } from '../../errors/gateway-error.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import { AnswerError } from '../../protocols/translation/answer.ts';
import { UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { isContextTooLong } from './refused-content.ts';

/**
 * The error of a provider that speaks another protocol, for the client: its status and words, but not its `param`, which names a member of a
 * body that the client never sent, nor its `type`, which follows from the status.
 */
export function translatedError(error: GatewayError, { protocol }: Pick<Operation, 'protocol'>): GatewayError {
  const { kind, status, retry, headers, requestId, cause } = error;
  let { message, code } = error;
  const isTooLong = isContextTooLong(error);
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

/** The failure of a call whose provider reported an error in place of a stream. A status of the call itself does not blame the route. */
export function reportedFailure(
  { message, status, code }: Pick<GatewayError, 'message' | 'status' | 'code'>,
  requestId: string,
): UpstreamFailure {
  if (status >= 500) return new UpstreamFailure('unknown', new GatewayError('upstreamError', { message, requestId }));
  const response = new GatewayError('upstreamRefused', { message, status, code, requestId });
  return new UpstreamFailure('refused', response, undefined, { refusal: { reason: 'call', status } });
}

/** The failure of a call whose answer cannot be translated. @throws other errors, which are faults of the gateway */
export function untranslatable(error: unknown, requestId: string): UpstreamFailure {
  // There is no thread for it, but the provider has run the call.
  if (error instanceof GatewayError) {
    return new UpstreamFailure('unknown', error, undefined, { hadSuccess: true, blamesRoute: false });
  }
  if (!(error instanceof AnswerError) && !(error instanceof JsonSyntaxError)) throw error;
  return unusableSuccess(requestId, untranslatedWords(error, false));
}

/** @param isCharged whether a part was delivered, which is charged */
export function untranslatedWords({ message }: Error, isCharged: boolean): string {
  const charge = isCharged ? 'The output received so far is charged' : 'Nothing is charged';
  return `The answer of the provider cannot be translated: ${message}. ${charge}.`;
}
