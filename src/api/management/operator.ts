import type { RequestedVia } from '../../accounting/calls/call-outcome.ts';
import { type Actor, signatureOf, unsigned } from '../../people/actor.ts';

/** Who a record names for what an operator did. A person is named as it signed in, whatever the request says. */
export function operatorOf(actor: Actor, said: string | null): { by: string | null; via: RequestedVia } {
  // No key reaches the admin API, and nobody who has not signed in.
  const via = actor.kind === 'api_key' || actor.kind === 'visitor' ? 'admin_token' : actor.kind;
  const isNamed = actor.kind === 'user' || (actor.kind === 'admin_token' && actor.id !== null);
  return { by: isNamed ? signatureOf(actor) : said && unsigned(said), via };
}
