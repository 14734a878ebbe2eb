import type { Kind, Scenario } from '../scenarios.ts';
import type { Stage } from '../stage.ts';
import type { Target } from '../targets.ts';

/** A program of others that can respond to some of the same calls, with no more than it needs for that. */
export interface PeerKind {
  readonly name: string;
  serves(kind: Kind): boolean;
  start(stage: Stage, scenario: Scenario): Promise<Target>;
}

/** A peer, or why it cannot be measured here. */
export type FoundPeer = PeerKind | { readonly name: string; readonly missing: string };

/** What any gateway of chat completions serves. */
export const CHAT_KINDS: ReadonlySet<Kind> = new Set(['chat', 'rate', 'streams', 'prompt', 'response']);
