import { invalidRequest } from '../errors/gateway-error.ts';

/** A tool, or a part of one, that the gateway does not know, so that it cannot tell what it refers to. */
export interface UnlistedPart {
  /** The setting that allows it at a provider (`providers.NAME.allows`): `tools.x_search`, `tools.mcp.tunnel`. */
  readonly name: string;
  readonly param: string;
  readonly problem: 'type' | 'member' | 'form';
}

const UNLISTED_MAX = 64;

/**
 * Adds a part once per name.
 *
 * @throws GatewayError `invalidRequest` if the request has too many.
 */
export function addUnlisted(list: UnlistedPart[], part: UnlistedPart): void {
  if (list.some(({ name }) => name === part.name)) return;
  if (list.length === UNLISTED_MAX) {
    const message = `The request has more than ${UNLISTED_MAX} tools or tool members that the gateway does not know.`;
    throw invalidRequest(message, part.param);
  }
  list.push(part);
}
