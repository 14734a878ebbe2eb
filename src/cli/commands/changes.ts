import type { ChangeResponse } from '../../api/changes/admin.ts';
import { type CommandRows, limitOf } from '../command-rows.ts';
import { listUpTo, queryOf } from '../pages.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';
import { changeDifference } from './change-difference.ts';

const COLUMNS: readonly Column<ChangeResponse>[] = [
  ...columnsOf<ChangeResponse>('when: at'),
  { title: 'who', cell: describeActor },
  ...columnsOf<ChangeResponse>('from: clientAddress'),
  { title: 'what', cell: (row) => row.sentence.en },
  { title: 'differs', cell: ({ before, after }) => changeDifference(before, after) },
  { title: 'outcome', cell: (row) => [row.outcome, row.errorCode].filter(Boolean).join(' ') },
  ...columnsOf<ChangeResponse>('action'),
  { title: 'of', cell: (row) => row.subject.id ?? row.subject.kind },
];

export const changeCommands: CommandRows = {
  changes: {
    about:
      'list the audit log, newest first: changes by people, tokens, keys and the command line, and reloads of the configuration; ' +
      '--json shows all values before and after a change',
    with: {
      '--account <account>': 'only changes of this account (id or name) and of everything that belongs to it',
      '--subject <id>': 'only changes of this key, subscription, token, …',
      '--actor <actor>':
        'only changes by this token, user or key, such as tok_01…, usr_01… or key_01…, or of a kind such as command_line',
      '--action <action>': 'only changes of this kind, such as accounts.change or keys.delete',
      '--from <instant>': 'only changes since this time, such as 2026-11-20T00:00:00Z',
      '--to <instant>': 'only changes before this time',
      ...limitOf(20),
    },
    async reads(admin, output, given) {
      const actorMember = /^(usr|tok|key)_\w{26}$/.test(String(given.actor)) ? 'actorId' : 'actorKind';
      const named = { ...given, subjectId: given.subject, [actorMember]: given.actor };
      const query = queryOf(named, ['accountId', 'subjectId', actorMember, 'action', 'from', 'to']);
      const changes = await listUpTo<ChangeResponse>(admin, '/changes', query, String(given.limit));
      output.print(changes, () => renderTable(changes, 'No changes are recorded.', COLUMNS));
    },
  },
};

function describeActor({ actor: { name, id, localUser } }: ChangeResponse): string {
  if (localUser !== null) return `${localUser}, ${name}`;
  return id === null ? name : `${name} (${id})`;
}
