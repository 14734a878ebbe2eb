import type { Change, ChangeActor } from './changes-store.ts';

export interface NewChange
  extends Omit<Change, 'id' | 'begunAtMs' | 'endedAtMs' | 'outcome' | 'before' | 'after' | 'errorCode'> {
  readonly before: object | null;
}

export interface ChangeResult {
  /** Who made the change. A visitor may have signed in during it. */
  readonly actor: ChangeActor;
  readonly subjectId: string | null;
  readonly accountId: string | null;
  readonly after: object | null;
  /** State before the change; present only if the response reveals it. */
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
