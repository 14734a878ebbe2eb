import type { FastifyInstance } from 'fastify';
import type { Guard } from '../management/guard.ts';
import { ACCOUNT_PREFIX } from '../management/prefixes.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import type { PeopleEndpoint, VisitNeed } from '../sessions/endpoint.ts';
import { LINKS, type LinkParts, linkEndpoints } from '../sessions/links.ts';
import { type OidcParts, oidcEndpoints } from '../sessions/oidc.ts';
import { registerOidcCallback } from '../sessions/oidc-callback.ts';
import { type OwnUserParts, ownUserEndpoints } from '../sessions/own-user.ts';
import { tooManyAttempts } from '../sessions/people-errors.ts';
import { requireSameSite } from '../sessions/session-reader.ts';
import { type SessionParts, sessionEndpoints } from '../sessions/sessions.ts';
import { requirePerson, Visit } from '../sessions/visit.ts';

export type PeopleParts = SessionParts & OwnUserParts & LinkParts & OidcParts;

/** Endpoints for signing in and for users' own data, below the prefix of the account API. */
export function peopleTable(parts: PeopleParts): PeopleEndpoint[] {
  return [...sessionEndpoints(parts), ...ownUserEndpoints(parts), ...linkEndpoints(parts), ...oidcEndpoints(parts)];
}

/** Serves these endpoints. Pages of other sites can neither sign anybody in nor use a link in a visitor's browser. */
export function registerPeople(app: FastifyInstance, parts: PeopleParts, guard: Guard, watch: ManagementWatch): void {
  serveManagement<VisitNeed, Visit, unknown>(
    app,
    {
      prefix: ACCOUNT_PREFIX,
      kind: 'account',
      endpoints: peopleTable(parts),
      async enter({ needs, path }, request, reply) {
        requireSameSite(request.raw, parts.publicUrl());
        if (needs === 'signed_in') {
          return new Visit(parts, request, reply, requirePerson(await guard.identify(request, reply)));
        }
        const visit = new Visit(parts, request, reply, { kind: 'visitor' });
        if (path.startsWith(LINKS)) {
          // Limits apply before anything is read or recorded.
          const waitMs = await parts.limits.beginTry(visit.network);
          if (waitMs > 0) throw tooManyAttempts(waitMs);
        }
        return visit;
      },
      holderOf: ({ actor }) => (actor.kind === 'user' ? actor.id : null),
    },
    watch,
  );
  registerOidcCallback(app, parts, watch);
}
