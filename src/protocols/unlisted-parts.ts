import { invalidRequest } from '../errors/gateway-error.ts';

/** An unknown tool, or an unknown member of a tool. It might refer to provider state. */
export interface UnlistedPart {
  /** The part's name in the setting that allows it (`providers.NAME.allows`), such as `tools.x_search` or `tools.mcp.tunnel`. */
  readonly name: string;
  readonly param: string;
  readonly problem: 'type' | 'member' | 'form';
}

const UNLISTED_MAX = 64;

/** Adds a part to the list. @throws GatewayError `invalidRequest` if the list has too many parts */
export function addUnlisted(list: UnlistedPart[], part: UnlistedPart): void {
  if (list.some(({ name }) => name === part.name)) return;
  if (list.length === UNLISTED_MAX) {
    const message = `The request has more than ${UNLISTED_MAX} tools or tool members that the gateway does not know.`;
    throw invalidRequest(message, part.param);
  }
  list.push(part);
}
