import { GatewayError } from '../errors/gateway-error.ts';
import { UpstreamFailure } from '../providers/upstream/failure.ts';

/** The reason why a request to a provider failed, for operators. It can contain secrets. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof UpstreamFailure)) return error instanceof Error ? error.message : String(error);
  const { cause, response } = error;
  if (cause instanceof GatewayError) return `${cause.code}: ${cause.message}`;
  if (!(cause instanceof Error)) return response.message;
  return [response.message, connectionWords(cause)].join(' ');
}

/** The code and the message of a connection's error. It can contain secrets. */
export function connectionWords({ code, message }: NodeJS.ErrnoException): string {
  return [message.includes(code ?? '') ? null : code, message].filter(Boolean).join(' ');
}
