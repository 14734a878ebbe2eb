import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestedVia } from '../../accounting/ledger/call-outcome.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { readCredential } from '../../http/credentials.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';

/** The fewest characters of an admin token; shorter ones could be guessed. */
export const ADMIN_TOKEN_LENGTH_MIN = 16;

const LOCAL_ONLY = 'Only the command line of the machine on which the gateway runs may use this address.';
/** The cost of a wrong admin token against the rate of refusals: 20 guesses a second are refused without delay. */
const GUESS_COST = 5;

/** Who may use the admin API: requests with one of `tokens`, which are none where the list is empty. */
export interface AdminAccess {
  readonly tokens: readonly string[];
  /** The one of them that the command line of this machine has; `null` where it has none. */
  readonly localToken: string | null;
}

/** What slows down an address that guesses tokens. */
export interface GuessLimits {
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
}

/** Lets requests with an admin token through. */
export interface AdminGuard {
  /**
   * @param isLocal whether only the command line of this machine may pass.
   * @throws GatewayError `invalidApiKey`, after a delay where the address has guessed too often.
   */
  enter(request: FastifyRequest, reply: FastifyReply, isLocal: boolean): Promise<RequestedVia>;
}

export function createAdminGuard({ tokens, localToken }: AdminAccess, { addresses, brake }: GuessLimits): AdminGuard {
  const digests = tokens.map(digest);

  function authorize(token: string, isLocal: boolean): RequestedVia {
    const given = digest(token);
    // All digests are compared, so that the time does not depend on which of them matches.
    const isKnown = digests.reduce((found, known) => timingSafeEqual(known, given) || found, false);
    if (!isKnown) throw new GatewayError('invalidApiKey', { message: 'The admin token is wrong.' });
    const isFromHere = localToken !== null && timingSafeEqual(digest(localToken), given);
    if (isLocal && !isFromHere) throw new GatewayError('invalidApiKey', { message: LOCAL_ONLY });
    return isFromHere ? 'command_line' : 'admin_token';
  }

  return {
    async enter(request, reply, isLocal) {
      try {
        return authorize(readAdminToken(request.raw), isLocal);
      } catch (error) {
        const isSlowed = await brake.hold(`admin ${addresses.ofRequest(request.raw)}`, GUESS_COST);
        if (!isSlowed) reply.header('connection', 'close');
        throw error;
      }
    },
  };
}

function readAdminToken(request: Parameters<typeof readCredential>[0]): string {
  try {
    return readCredential(request, 'bearer');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('invalidApiKey', { message: 'Send the admin token as "Authorization: Bearer <token>".' });
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
