import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { RefusalThrottle } from '../../http/refusal-throttle.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';

/** Throttles clients that guess credentials, by home connection: an IPv6 /56 or an IPv4 address. */
export interface GuessLimits {
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
}

/** The throttle cost of a guess: 20 guesses a second are rejected without delay. */
const GUESS_COST = 5;

/**
 * Delays the refusal of a credential or attempt if its home connection has too many. The 256 networks of an IPv6 /56 count as one.
 * Resolves when the refusal may be sent.
 *
 * @param what the kind of refusals that are counted together
 */
export async function slowGuesses(
  { addresses, throttle }: GuessLimits,
  what: 'admin' | 'attempt',
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const isSlowed = await throttle.hold(`${what} ${addresses.lineOf(request.raw)}`, GUESS_COST);
  // Too many responses are delayed already, so the client must reconnect.
  if (!isSlowed) reply.header('connection', 'close');
}

/** Serves a request, and delays the refusal of sign-in or link attempts beyond the limit. */
export async function slowAttempts<Result>(
  limits: GuessLimits,
  request: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<Result>,
): Promise<Result> {
  try {
    return await serve();
  } catch (error) {
    if (isAttemptTooMany(error)) await slowGuesses(limits, 'attempt', request, reply);
    throw error;
  }
}

/** Too many attempts, or too many passwords in the hash queue. */
function isAttemptTooMany(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.code === 'too_many_attempts' || error.cause instanceof PasswordsBusyError)
  );
}
