import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { RefusalThrottle } from '../../http/refusal-throttle.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';

/** Limits of guesses by home connection: an IPv6 /56 network or an IPv4 address. */
export interface GuessLimits {
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
}

/** Cost of a guess for the refusal throttle, which delays more than 20 of them per second. */
const GUESS_COST = 5;

/** Resolves when a refusal may be sent. `what`: its kind; each kind is counted separately. */
export async function slowGuesses(
  { addresses, throttle }: GuessLimits,
  what: 'admin' | 'attempt',
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const isSlowed = await throttle.hold(`${what} ${addresses.lineOf(request.raw)}`, GUESS_COST);
  // If too many responses are delayed already, this one is sent at once, but the client must connect again.
  if (!isSlowed) reply.header('connection', 'close');
}

/** Delays the refusal of too many attempts to sign in or to use a link. */
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

/** Whether an error means too many attempts. A full queue of passwords to hash does, too. */
function isAttemptTooMany(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.code === 'too_many_attempts' || error.cause instanceof PasswordsBusyError)
  );
}
