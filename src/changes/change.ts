import type { Change, ChangeActor } from './changes-store.ts';

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
