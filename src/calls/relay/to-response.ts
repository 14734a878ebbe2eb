import { GatewayError } from '../../errors/gateway-error.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';

/** The error that the client gets for a failure. */
export function toResponse(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.response;
  return new GatewayError('internal', { cause: error });
}
