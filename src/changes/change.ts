import type { Change, ChangeActor } from './changes-store.ts';

export interface NewChange
  extends Omit<Change, 'id' | 'begunAtMs' | 'endedAtMs' | 'outcome' | 'before' | 'after' | 'errorCode'> {
  readonly before: object | null;
}

export interface ChangeResult {
  /** A visitor may have signed in during the change. */
  readonly actor: ChangeActor;
  readonly subjectId: string | null;
  readonly accountId: string | null;
  readonly after: object | null;
  /** Set only if the response reveals the state before the change. */
  readonly before?: object | null;
}

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
