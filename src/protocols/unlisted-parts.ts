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

/** Gathers those of one request, each name once. */
export class UnlistedParts {
  readonly list: UnlistedPart[] = [];

  /** @throws GatewayError `invalidRequest` where the request has too many. */
  add(name: string, problem: UnlistedPart['problem'], param: () => string): void {
    if (this.list.some((part) => part.name === name)) return;
    if (this.list.length === UNLISTED_MAX) {
      const message = `The request has more than ${UNLISTED_MAX} members that the gateway does not know.`;
      throw invalidRequest(message, param());
    }
    this.list.push({ name, param: param(), problem });
  }
}
