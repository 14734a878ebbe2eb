import type { Scene } from './scene/scene.ts';

/** The accounts of a caller in an attack. */
export interface CallerTerms {
  /** In yuan; without it, the account has no money. */
  readonly balanceYuan?: string;
  /** The Coding Plan of its subscription. */
  readonly plan?: string;
  /** The scopes of its keys; by default calls only. */
  readonly scopes?: readonly ('calls' | 'account')[];
  /** Number of accounts with one key each; by default one. */
  readonly accounts?: number;
}

/**
 * The gateway under attack. `stop`: attacks on availability for others. `money`: attempts to pay too little. `people`: attacks on sign-in
 * and sign-up. `money` and `people` also run some attacks on availability, so that all stages take equally long. `fewConnections`: a
 * gateway with a low limit of client connections.
 */
export type Stage = 'stop' | 'money' | 'people' | 'fewConnections';

/**
 * An attack. It runs in its own process, while an innocent caller in another process makes calls. Findings go into the report through the
 * scene.
 */
export interface Attack {
  readonly name: string;
  /** What it sends, as one line in the list. */
  readonly sends: string;
  /** How long it sends. */
  readonly seconds: number;
  /** It runs during all other attacks of its stage. */
  readonly isBackground?: boolean;
  /** By name in `run`. */
  readonly callers: Readonly<Record<string, CallerTerms>>;
  /** Maximum growth of the gateway's resident memory. */
  readonly memoryMiB?: number;
  /** Creates the bodies, before the innocent caller is measured. */
  prepare?(): void;
  /** Creates data, such as calls to be listed, before the innocent caller is observed. */
  setUp?(scene: Scene): Promise<void>;
  run(scene: Scene): Promise<void>;
}
