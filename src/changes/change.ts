import type { Actor } from '../people/actor.ts';
import type { Recorded } from './recorded-value.ts';

/** Who has changed something: an actor of the APIs, or the configuration file of a node. */
export type ChangeActorKind = Actor['kind'] | 'configuration';

export interface ChangeActor {
  readonly kind: ChangeActorKind;
  /** Of a person, a named token or a key; `null` for all others. */
  readonly id: string | null;
  readonly name: string;
  readonly sessionId: string | null;
  /** Who says to be at the command line, by the operating system. */
  readonly localUser: string | null;
}

/**
 * `begun`: nothing more is known, because the change is being made, or its node died, or could not say what came of it.
 * `failed`: it ended with an error that says nothing of what was changed.
 */
export type ChangeOutcome = 'begun' | 'done' | 'failed';

/** A row of the change log. */
export interface Change {
  readonly id: string;
  readonly begunAtMs: number;
  readonly endedAtMs: number | null;
  readonly outcome: ChangeOutcome;
  readonly actor: ChangeActor;
  /** `null` for what was changed without a request. */
  readonly method: string | null;
  /** The pattern of the address. */
  readonly path: string | null;
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string | null;
  readonly accountId: string | null;
  readonly before: Recorded;
  readonly after: Recorded;
  readonly clientAddress: string | null;
  readonly requestId: string | null;
  readonly errorCode: string | null;
}

/** What is known of a change before it is made. */
export interface NewChange
  extends Omit<Change, 'id' | 'begunAtMs' | 'endedAtMs' | 'outcome' | 'before' | 'after' | 'errorCode'> {
  readonly before: object | null;
}

/** What is known of a change once it is made. */
export interface ChangeResult {
  /** Somebody who was nobody at the beginning may be a person by now. */
  readonly actor: ChangeActor;
  readonly subjectId: string | null;
  readonly accountId: string | null;
  readonly after: object | null;
  /** Where the response alone shows it; else as it was said at the beginning. */
  readonly before?: object | null;
}

/** A change that no request has asked for. */
export function changeElsewhere(
  by: 'configuration' | 'command_line',
  action: string,
  subjectKind: string,
  subjectId: string | null,
  localUser: string | null = null,
): NewChange {
  const name = by === 'configuration' ? 'configuration' : 'command line';
  return {
    actor: { kind: by, id: null, name, sessionId: null, localUser },
    method: null,
    path: null,
    action,
    subjectKind,
    subjectId,
    accountId: null,
    before: null,
    clientAddress: null,
    requestId: null,
  };
}
