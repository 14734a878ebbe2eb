import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { RefusalThrottle } from '../../http/refusal-throttle.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';

/** Guesses are counted per home connection: an IPv6 /56 or an IPv4 address. */
export interface GuessLimits {
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
}

/** What a guess costs in the refusal throttle, which delays rejections above 20 a second. */
const GUESS_COST = 5;

/** Resolves when a refusal may be sent. `what`: each kind of refusal is counted separately. */
export async function slowGuesses(
  { addresses, throttle }: GuessLimits,
  what: 'admin' | 'attempt',
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const isSlowed = await throttle.hold(`${what} ${addresses.lineOf(request.raw)}`, GUESS_COST);
  // Too many responses are delayed already. This response is sent at once, but the client must reconnect.
  if (!isSlowed) reply.header('connection', 'close');
}

/** Delays the refusal if there were too many attempts to sign in or use a link. */
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

/** A full queue of passwords to hash is treated like too many attempts. */
function isAttemptTooMany(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.code === 'too_many_attempts' || error.cause instanceof PasswordsBusyError)
  );
}
