import { GatewayError } from '../errors/gateway-error.ts';
import { UpstreamFailure } from '../providers/upstream/failure.ts';

/** The reason why a request to a provider failed, for operators. It can contain secrets. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof UpstreamFailure)) return error instanceof Error ? error.message : String(error);
  const { cause, response } = error;
  if (cause instanceof GatewayError) return `${cause.code}: ${cause.message}`;
  if (!(cause instanceof Error)) return response.message;
  const { code } = cause as NodeJS.ErrnoException;
  return [response.message, code, cause.message].filter(Boolean).join(' ');
}
