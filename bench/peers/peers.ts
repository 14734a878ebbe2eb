import { findFloor } from './floor.ts';
import { findLitellm } from './litellm.ts';
import { findNginx } from './nginx.ts';
import type { FoundPeer } from './peer.ts';
import { findPortkey } from './portkey.ts';

const FINDERS: Readonly<Record<string, () => FoundPeer>> = {
  floor: findFloor,
  nginx: findNginx,
  portkey: findPortkey,
  litellm: findLitellm,
};

export const PEER_NAMES: readonly string[] = Object.keys(FINDERS);

/** The peers with these names. Downloads missing ones, which may take minutes. */
export function findPeers(names: readonly string[]): FoundPeer[] {
  return names.map((name) => FINDERS[name]!());
}
