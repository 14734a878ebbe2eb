import { GatewayError } from '../../errors/gateway-error.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';

/** The error that the client gets for a failure. */
export function toAnswer(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.answer;
  return new GatewayError('internal', { cause: error });
}
