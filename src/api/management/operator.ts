import type { RequestedVia } from '../../accounting/calls/call-outcome.ts';
import { type Actor, signatureOf, unsigned } from '../../people/actor.ts';

/** Returns the operator to record. A signed-in user or a named token is recorded under its own name, whatever name the request contains. */
export function operatorOf(actor: Actor, said: string | null): { by: string | null; via: RequestedVia } {
  // Narrows the type only: API keys and visitors cannot reach the admin API.
  const via = actor.kind === 'api_key' || actor.kind === 'visitor' ? 'admin_token' : actor.kind;
  const isNamed = actor.kind === 'user' || (actor.kind === 'admin_token' && actor.id !== null);
  return { by: isNamed ? signatureOf(actor) : said && unsigned(said), via };
}
