import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { changeActor } from '../../changes/audit-log.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import type { OidcOutcome, OidcRefusal, RecordChange } from '../../people/oidc-sign-in.ts';
import { ACCOUNT_PREFIX } from '../management/prefixes.ts';
import type { ManagementWatch } from '../management/serve.ts';
import { slowAttempts, slowGuesses } from '../management/slow-guesses.ts';
import { findProvider, type OidcDependencies } from './oidc.ts';
import type { OwnUserDependencies } from './own-user.ts';
import { Visit } from './visit.ts';

type PageError = OidcRefusal | 'suspended' | 'too_many_attempts';

/**
 * Serves the redirect URI of OpenID providers, which OpenID Connect requests with GET. That this GET changes something is safe, because it
 * only completes a flow that the same browser began with a POST. The response is a redirect to the console rather than JSON, so the address
 * is not in the endpoint table.
 */
export function registerOidcCallback(
  app: FastifyInstance,
  dependencies: OidcDependencies & OwnUserDependencies,
  watch: ManagementWatch,
): void {
  const { changes, addresses, throttle } = watch;

  const url = `${ACCOUNT_PREFIX}/oidc/:id/callback`;
  app.get(url, { config: { envelope: adminEnvelope, kind: 'account' } }, async (request, reply: FastifyReply) => {
    reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
    const visit = new Visit(dependencies, request, reply, { kind: 'visitor' });
    const provider = findProvider(dependencies, (request.params as { readonly id: string }).id);
    const result = await slowAttempts(watch, request, reply, () => complete(visit, provider, request));
    if (result === 'too_many_attempts') await slowGuesses(watch, 'attempt', request, reply);
    const location = typeof result === 'string' ? `${CONSOLE_PATH}#/sign-in?error=${result}` : result.returnTo;
    return reply.code(302).header('location', location).send();
  });
  app.servedAddresses.add({ path: url, methods: ['GET'], envelope: adminEnvelope });

  function recordFor(visit: Visit, request: FastifyRequest): RecordChange {
    return async ({ action, issuer, subject }, work) => {
      const clientAddress = addresses.exactOf(request.raw);
      const open = await changes.begin({
        actor: changeActor(visit.actor, null),
        method: 'GET',
        path: url,
        action,
        subjectKind: 'identity',
        subjectId: null,
        accountId: null,
        before: null,
        clientAddress: clientAddress === '' ? null : clientAddress,
        requestId: request.id,
      });
      const result = await work().catch(async (error: unknown) => {
        await open.failed('internal_error');
        throw error;
      });
      if (typeof result === 'string') await open.withdraw();
      else {
        throttle.forgetAll();
        const after = { userId: result.userId, issuer, subject };
        await open.done({ actor: changeActor(visit.actor, null), subjectId: result.userId, accountId: null, after });
      }
      return result;
    };
  }

  async function complete(
    visit: Visit,
    provider: Parameters<OidcDependencies['oidc']['complete']>[0],
    request: FastifyRequest,
  ): Promise<OidcOutcome | PageError> {
    const { limits, oidc } = dependencies;
    if ((await limits.begin(null, visit.network)) > 0) return 'too_many_attempts';
    const handle = visit.flowHandle;
    const query = new URLSearchParams(request.raw.url!.split('?')[1] ?? '');
    const findSignedIn = async (): Promise<string | null> => {
      const user = await visit.findUser();
      if (user !== null) visit.actor = user;
      return user?.id ?? null;
    };
    const result = await oidc.complete(provider, handle, query, findSignedIn, recordFor(visit, request));
    if (result === 'sign_in_expired') return result;
    visit.forgetFlow();
    if (typeof result === 'string') return result;
    const { userId, isAttached, authenticatedAtMs } = result;
    if (!isAttached && (await visit.beginSession(userId, null, authenticatedAtMs)) === null) return 'suspended';
    // There are two calls, because the beginning and the end of the sign-in were each counted as an attempt.
    limits.succeeded(null, visit.network);
    limits.succeeded(null, visit.network);
    return result;
  }
}
