import { invalidRequest } from '../errors/gateway-error.ts';

/** A part of a tool, or a whole one, that the gateway does not know, so that it cannot say what it refers to. */
export interface UnlistedPart {
  /** What allows it at a provider (`providers.NAME.allows`): `tools.x_search`, `tools.mcp.tunnel`. */
  readonly name: string;
  readonly param: string;
  readonly problem: 'type' | 'member' | 'form';
}

/** A request with more different ones is refused. */
const UNLISTED_MAX = 64;

/**
 * Adds a part to those of a request, each name once.
 *
 * @throws GatewayError `invalidRequest` where the request has too many.
 */
export function addUnlisted(list: UnlistedPart[], part: UnlistedPart): void {
  if (list.some(({ name }) => name === part.name)) return;
  if (list.length === UNLISTED_MAX) {
    const message = `The request has more than ${UNLISTED_MAX} members that the gateway does not know.`;
    throw invalidRequest(message, part.param);
  }
  list.push(part);
}
