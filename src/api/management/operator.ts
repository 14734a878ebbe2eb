import type { RequestedVia } from '../../accounting/calls/call-outcome.ts';
import { type Actor, signatureOf, unsigned } from '../../people/actor.ts';

/** The operator that a record names. A signed-in person is named by the session, not by the request. */
export function operatorOf(actor: Actor, said: string | null): { by: string | null; via: RequestedVia } {
  // Neither API keys nor visitors reach the admin API.
  const via = actor.kind === 'api_key' || actor.kind === 'visitor' ? 'admin_token' : actor.kind;
  const isNamed = actor.kind === 'user' || (actor.kind === 'admin_token' && actor.id !== null);
  return { by: isNamed ? signatureOf(actor) : said && unsigned(said), via };
}
