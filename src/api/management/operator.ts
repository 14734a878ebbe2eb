import type { RequestedVia } from '../../accounting/calls/call-outcome.ts';
import { type Actor, signatureOf, unsigned } from '../../people/actor.ts';

/** The operator to record. A signed-in user or a named token is recorded under its own name, even if the request contains another one. */
export function operatorOf(actor: Actor, said: string | null): { by: string | null; via: RequestedVia } {
  // API keys and visitors cannot reach the admin API; this narrows the type.
  const via = actor.kind === 'api_key' || actor.kind === 'visitor' ? 'admin_token' : actor.kind;
  const isNamed = actor.kind === 'user' || (actor.kind === 'admin_token' && actor.id !== null);
  return { by: isNamed ? signatureOf(actor) : said && unsigned(said), via };
}
