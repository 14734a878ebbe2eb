import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import type { ErrorKind } from '../../errors/catalogue.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { readCredential } from '../../http/credentials.ts';
import { hashSecretText } from '../../lib/secret-text.ts';
import { weaknessOf } from '../../lib/weak-secret.ts';
import {
  type AccountNeed,
  type AccountRefusal,
  type AccountScope,
  type AdminNeed,
  type AdminRefusal,
  refusalOfAdmin,
  scopeOf,
} from '../../people/access.ts';
import type { Actor } from '../../people/actor.ts';
import { type GuessLimits, slowGuesses } from './slow-guesses.ts';

/** Minimum length of the admin token. A shorter one could be guessed. */
export const ADMIN_TOKEN_LENGTH_MIN = 16;

/** Returns why a token is too weak, as the predicate of a sentence; `null`: it is strong enough. */
export const adminTokenWeakness = (token: string): string | null => weaknessOf(token, ADMIN_TOKEN_LENGTH_MIN);

interface ShownCredential {
  readonly request: FastifyRequest;
  /** Token of the Authorization header. */
  readonly bearer: string | null;
}

/**
 * Finds the owner of a credential; `null`: it is absent, unknown, expired or revoked. Reads the database each time, so that every node
 * rejects a revoked credential at once.
 */
export type CredentialReader = (shown: ShownCredential) => Promise<Actor | null>;

interface AdminAccess {
  /** Tokens that are not in the database, such as that of the environment. */
  readonly tokens: readonly string[];
  readonly localToken: string | null;
  readonly readers: readonly CredentialReader[];
}

export interface AccountEntry {
  readonly actor: Actor;
  readonly scope: AccountScope;
}

export type Guard = ReturnType<typeof createGuard>;

export function createGuard({ tokens, localToken, readers }: AdminAccess, limits: GuessLimits) {
  const digests = tokens.map(hashSecretText);

  function findToken(bearer: string): Actor | null {
    const given = hashSecretText(bearer);
    // Compares with all digests, which takes constant time.
    const isKnown = digests.reduce((found, known) => timingSafeEqual(known, given) || found, false);
    if (!isKnown) return null;
    const isFromHere = localToken !== null && timingSafeEqual(hashSecretText(localToken), given);
    return isFromHere
      ? { kind: 'command_line' }
      : { kind: 'admin_token', id: null, name: 'FAREGATE_ADMIN_TOKEN', role: 'operator', scopes: [] };
  }

  async function find(request: FastifyRequest): Promise<Actor> {
    const bearer = request.headers.authorization === undefined ? null : readBearer(request.raw);
    const known = bearer === null ? null : findToken(bearer);
    if (known !== null) return known;
    for (const read of readers) {
      const actor = await read({ request, bearer });
      if (actor !== null) return actor;
    }
    throw new GatewayError('invalidApiKey', { message: bearer === null ? HOW_TO_SEND : 'The token or key is wrong.' });
  }

  /** Does not look up API keys, because they are never valid in the admin API. */
  async function findOperator(request: FastifyRequest): Promise<Actor> {
    const { authorization } = request.headers;
    if (authorization !== undefined && isApiKey(readBearer(request.raw))) {
      throw new GatewayError('invalidApiKey', { message: NOT_BY_KEY });
    }
    return find(request);
  }

  async function enter(request: FastifyRequest, reply: FastifyReply, find: () => Promise<Actor>): Promise<Actor> {
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof GatewayError) || !OF_CREDENTIAL.has(error.kind)) throw error;
      await slowGuesses(limits, 'admin', request, reply);
      throw error;
    }
  }

  /** Authenticates a request. @throws GatewayError `invalidApiKey`, after a delay if the client address had too many failures */
  const identify = (request: FastifyRequest, reply: FastifyReply): Promise<Actor> =>
    enter(request, reply, () => find(request));

  return {
    identify,
    /** Authenticates and authorizes a request of the admin API. @throws GatewayError like `identify`, and `roleNotAllowed` */
    async enterAdmin(request: FastifyRequest, reply: FastifyReply, need: AdminNeed): Promise<Actor> {
      const actor = await enter(request, reply, () => findOperator(request));
      const refusal = refusalOfAdmin(actor, need);
      if (refusal !== null) throw new GatewayError('roleNotAllowed', { message: ADMIN_REFUSALS[refusal] });
      return actor;
    },
    /**
     * Authenticates and authorizes a request of the account API.
     * @param asked account that the request names; `null`: none
     * @throws GatewayError like `identify`, and for each refusal of `scopeOf`
     */
    async enterAccount(
      request: FastifyRequest,
      reply: FastifyReply,
      need: AccountNeed,
      asked: string | null,
    ): Promise<AccountEntry> {
      const actor = await identify(request, reply);
      const scope = scopeOf(actor, asked, need);
      if ('reason' in scope) throw accountError(scope, asked);
      return { actor, scope };
    },
  };
}

/** Errors that an attacker with guessed or stolen credentials causes. */
const OF_CREDENTIAL: ReadonlySet<ErrorKind> = new Set(['invalidApiKey', 'networkNotAllowed', 'scopeNotAllowed']);

const NOT_BY_KEY = 'API keys cannot use this address. Send an admin token, or sign in as an operator.';
const HOW_TO_SEND = 'Sign in, or send a token as "Authorization: Bearer <token>".';

const ADMIN_REFUSALS: Record<AdminRefusal, string> = {
  no_operator: 'Only operators may use the admin API.',
  role: 'An auditor may read everything and change nothing.',
  no_role: 'This token may use only the addresses of its scopes: POST /admin/v1/export.',
  no_export:
    'Only a signed-in operator, the command line on the machine of the gateway, or a token with the scope "export" may use this address.',
  no_person: 'Only a signed-in operator or the command line on the machine of the gateway may use this address.',
};

/** The error for an account of others. It is the same if the account does not exist. */
export const notYourAccount = (accountId: string): GatewayError =>
  new GatewayError('pathUnknown', { message: `You do not belong to the account ${accountId.slice(0, 100)}.` });

function accountError(refusal: AccountRefusal, asked: string | null): GatewayError {
  switch (refusal.reason) {
    case 'which_account':
      return invalidRequest(
        `accountId: You belong to several accounts. Choose one of ${refusal.accountIds.join(', ')}.`,
        'accountId',
      );
    case 'other_account':
      return notYourAccount(asked ?? '');
    case 'no_account':
      return new GatewayError('roleNotAllowed', { message: 'You belong to no account. Operators use the admin API.' });
    case 'role':
      return new GatewayError('roleNotAllowed', { message: 'Only an owner of the account may do this.' });
    case 'no_person':
      return new GatewayError('roleNotAllowed', {
        message: 'Only an owner who has signed in may do this, not an API key.',
      });
  }
}

function readBearer(request: Parameters<typeof readCredential>[0]): string {
  try {
    return readCredential(request, 'bearer');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('invalidApiKey', { message: HOW_TO_SEND });
  }
}
