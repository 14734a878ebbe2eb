import { GatewayError } from '../../errors/gateway-error.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';

/** What the client is told of a failure. */
export function toAnswer(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.answer;
  return new GatewayError('internal', { cause: error });
}
