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

const NAMES = { configuration: 'configuration', price_source: 'price source', command_line: 'command line' } as const;

/** @param by who made the change; the price source is a setting, so its changes are those of the configuration */
export function changeElsewhere(
  by: keyof typeof NAMES,
  action: string,
  subjectKind: string,
  subjectId: string | null,
  localUser: string | null = null,
): NewChange {
  const kind = by === 'command_line' ? by : 'configuration';
  return {
    actor: { kind, id: null, name: NAMES[by], sessionId: null, localUser },
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
