import type { Kind, Scenario } from '../scenarios.ts';
import type { Stage } from '../stage.ts';
import type { Target } from '../targets.ts';

/** Another gateway that serves some of the same calls, with minimal configuration. */
export interface PeerKind {
  readonly name: string;
  serves(kind: Kind): boolean;
  start(stage: Stage, scenario: Scenario): Promise<Target>;
}

/** A peer, or why it cannot be measured here. */
export type FoundPeer = PeerKind | { readonly name: string; readonly missing: string };

/** The scenarios of any gateway for chat completions. */
export const CHAT_KINDS: ReadonlySet<Kind> = new Set(['chat', 'rate', 'streams', 'prompt', 'response']);
