import { passedOn } from '../targets.ts';
import { peerTarget } from './child.ts';
import { CHAT_KINDS, type PeerKind } from './peer.ts';

/** A running gateway, started by the user, that forwards to the bench's provider. */
export interface GivenPeer {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly pid: number;
}

/**
 * Parses `NAME=URL,HEADER,MODEL,PID`, such as `other=http://127.0.0.1:3000,authorization: Bearer sk-1,gpt,4711`. The header may be empty,
 * and may contain commas.
 *
 * @throws Error that describes the expected format
 */
export function parsePeer(text: string): GivenPeer {
  const [, name, url, header, model, pid] = /^([^=]+)=([^,]+),(.*),([^,]+),([1-9]\d*)$/.exec(text) ?? [];
  const [, field, value] = /^([\w-]+): ?(.*)$/.exec(header ?? '') ?? [];
  if (name === undefined || !URL.canParse(url!) || (header !== '' && field === undefined)) {
    throw new Error(
      `--peer: expected NAME=URL,HEADER,MODEL,PID with a header such as "authorization: Bearer sk-1"; found "${text}".`,
    );
  }
  const headers = field === undefined ? {} : { [field.toLowerCase()]: value! };
  return { name, url: url!.replace(/\/$/, ''), headers, model: model!, pid: Number(pid) };
}

/** The bench neither pins nor stops it. */
export function givenPeer({ name, url, headers, model, pid }: GivenPeer): PeerKind {
  const { origin, pathname } = new URL(url);
  return {
    name,
    serves: (kind) => CHAT_KINDS.has(kind),
    async start(_stage, scenario) {
      const shape = passedOn(scenario, origin);
      const path = `${pathname === '/' ? '' : pathname}${shape.path}`;
      return peerTarget(name, pid, { ...shape, path, model, headers }, async () => undefined);
    },
  };
}
