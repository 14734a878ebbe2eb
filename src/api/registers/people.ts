import type { FastifyInstance } from 'fastify';
import type { Guard } from '../management/guard.ts';
import { ACCOUNT_PREFIX } from '../management/prefixes.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import type { PeopleEndpoint, VisitNeed } from '../sessions/endpoint.ts';
import { LINKS, type LinkDependencies, linkEndpoints } from '../sessions/links.ts';
import { type OidcDependencies, oidcEndpoints } from '../sessions/oidc.ts';
import { registerOidcCallback } from '../sessions/oidc-callback.ts';
import { type OwnUserDependencies, ownUserEndpoints } from '../sessions/own-user.ts';
import { type PasswordResetDependencies, passwordResetEndpoints } from '../sessions/password-resets.ts';
import { tooManyAttempts } from '../sessions/people-errors.ts';
import { requireSameSite } from '../sessions/session-reader.ts';
import { type SessionDependencies, sessionEndpoints } from '../sessions/sessions.ts';
import { requirePerson, Visit } from '../sessions/visit.ts';

export type PeopleApiDependencies = SessionDependencies &
  OwnUserDependencies &
  LinkDependencies &
  OidcDependencies &
  PasswordResetDependencies;

export function peopleTable(dependencies: PeopleApiDependencies): PeopleEndpoint[] {
  return [
    ...sessionEndpoints(dependencies),
    ...ownUserEndpoints(dependencies),
    ...linkEndpoints(dependencies),
    ...passwordResetEndpoints(dependencies),
    ...oidcEndpoints(dependencies),
  ];
}

/** Serves the endpoints of people. A page of another site can neither sign a visitor in nor use a link in the visitor's browser. */
export function registerPeople(
  app: FastifyInstance,
  dependencies: PeopleApiDependencies,
  guard: Guard,
  watch: ManagementWatch,
): void {
  serveManagement<VisitNeed, Visit, unknown>(
    app,
    {
      prefix: ACCOUNT_PREFIX,
      kind: 'account',
      endpoints: peopleTable(dependencies),
      async enter({ needs, path }, request, reply) {
        requireSameSite(request.raw, dependencies.publicUrl());
        if (needs === 'signed_in') {
          return new Visit(dependencies, request, reply, requirePerson(await guard.identify(request, reply)));
        }
        const visit = new Visit(dependencies, request, reply, { kind: 'visitor' });
        if (path.startsWith(LINKS)) {
          const waitMs = await dependencies.limits.beginTry(visit.network);
          if (waitMs > 0) throw tooManyAttempts(waitMs);
        }
        return visit;
      },
      tenantOf: ({ actor }) => (actor.kind === 'user' ? actor.id : null),
    },
    watch,
  );
  registerOidcCallback(app, dependencies, watch);
}
