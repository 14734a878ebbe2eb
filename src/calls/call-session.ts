import { hash } from 'node:crypto';
import type { Model } from '../providers/catalog/catalog.ts';
import type { Call } from './call.ts';

/** The session of a call, where routes or credentials are chosen by it. */
export interface CallSession {
  /** What named it, such as `prompt_cache_key`. */
  readonly source: string;
  /** A hash of account, model and session: what names a session may be a text of the caller. */
  readonly key: string;
}

/** The session of a call; `null` if it has none, its model has no affinity, or there are neither routes nor credentials to choose from. */
export function sessionOf(
  { policy, principal, input, requestHeaders, settings }: Call,
  model: Model,
): CallSession | null {
  if (!model.hasAffinity) return null;
  const routes = model.routes[policy.operation.protocol.name];
  const isChoice =
    routes.length > 1 || routes.some(({ providerId }) => settings.providers.get(providerId).credentials.isChoice);
  const session = isChoice ? input.session(requestHeaders) : null;
  if (session === null) return null;
  const { by, value } = session;
  const key = hash('sha256', JSON.stringify([principal.accountId, model.id, by, value]), 'base64url');
  return { source: by, key };
}
