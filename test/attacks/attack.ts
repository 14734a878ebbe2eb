import type { Scene } from './scene/scene.ts';

/** What the accounts of an attack have. Every caller is an account of its own. */
export interface CallerTerms {
  /** In yuan; absent: no money at all. */
  readonly balanceYuan?: string;
  /** The Coding Plan that it is subscribed to. */
  readonly plan?: string;
  /** What its keys may be used for; by default calls alone. */
  readonly scopes?: readonly ('calls' | 'account')[];
  /** So many accounts with one key each; by default one. */
  readonly accounts?: number;
}

/**
 * The gateway that an attack is run at. `stop` has those that would stop it for others, `money` those that try to pay less than they
 * should, `people` those that sign in or sign up, and both, so that all take as long, some of the first kind; `fewConnections` takes few
 * connections of clients.
 */
export type Stage = 'stop' | 'money' | 'people' | 'fewConnections';

/**
 * One attack, as a plain description. It runs in a process of its own, beside an innocent caller in another one; what it
 * finds goes into the report through the scene.
 */
export interface Attack {
  readonly name: string;
  /** What is sent, in one line of the list. */
  readonly sends: string;
  /** For how long it sends. */
  readonly seconds: number;
  /** It goes on beside all other attacks of its stage. */
  readonly isBackground?: boolean;
  /** By the name that `run` calls them by. */
  readonly callers: Readonly<Record<string, CallerTerms>>;
  /** By how much the gateway's resident memory may grow meanwhile. */
  readonly memoryMiB?: number;
  /** Makes the bodies, before the innocent caller is measured. */
  prepare?(): void;
  /** Makes what the attack is about, such as calls to be listed, before the innocent caller is watched. */
  setUp?(scene: Scene): Promise<void>;
  run(scene: Scene): Promise<void>;
}
