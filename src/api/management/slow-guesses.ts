import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';

/** What slows down a home line from which credentials are guessed: of IPv6 a /56, of IPv4 an address. */
export interface GuessLimits {
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
}

/** The cost of a guess against the rate of refusals: 20 guesses a second are refused without delay. */
const GUESS_COST = 5;

/**
 * Delays the refusal of a credential, or of an attempt beyond the limit of attempts, if the line that it comes from has too many:
 * whoever has 256 networks of IPv6 makes no more work with all of them than with one. Resolves when it may leave.
 *
 * @param what kind of refusals are counted together
 */
export async function slowGuesses(
  { addresses, brake }: GuessLimits,
  what: 'admin' | 'attempt',
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const isSlowed = await brake.hold(`${what} ${addresses.lineOf(request.raw)}`, GUESS_COST);
  // Too many are delayed already: the next one needs a new connection.
  if (!isSlowed) reply.header('connection', 'close');
}

/** Serves a request, and delays its refusal if it is an attempt to sign in, or to use a link, beyond what may be tried. */
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

/** Beyond the limit of attempts, or beyond the passwords that may wait to be hashed. */
function isAttemptTooMany(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.code === 'too_many_attempts' || error.cause instanceof PasswordsBusyError)
  );
}
