import type { Command } from 'commander';
import type { ChangeResponse } from '../../api/changes/admin.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { listUpTo, queryOf } from '../pages.ts';
import { renderTable } from '../table.ts';
import { changeDifference } from './change-difference.ts';

export function changesCommand(program: Command, kit: CommandKit): void {
  addCommand(
    program,
    'changes',
    'list the audit log, newest first: changes by people, tokens, keys and the command line, and reloads of the configuration; ' +
      '--json shows all values before and after a change',
  )
    .option('--account <account>', 'only changes of this account (id or name) and of everything that belongs to it')
    .option('--subject <id>', 'only changes of this key, subscription, token, …')
    .option(
      '--actor <actor>',
      'only changes by this token, user or key, such as tok_01…, usr_01… or key_01…, or of a kind such as command_line',
    )
    .option('--action <action>', 'only changes of this kind, such as accounts.change or keys.delete')
    .option('--from <instant>', 'only changes since this time, such as 2026-11-20T00:00:00Z')
    .option('--to <instant>', 'only changes before this time')
    .option('--limit <count>', 'maximum number of rows', '20')
    .action(
      kit.reading(async (admin, output, given) => {
        const actorMember = /^(usr|tok|key)_\w{26}$/.test(String(given.actor)) ? 'actorId' : 'actorKind';
        const named = { ...given, subjectId: given.subject, [actorMember]: given.actor };
        const query = queryOf(named, ['accountId', 'subjectId', actorMember, 'action', 'from', 'to']);
        const changes = await listUpTo<ChangeResponse>(admin, '/changes', query, String(given.limit));
        output.print(changes, () =>
          renderTable(changes, 'No changes are recorded.', [
            { title: 'when', cell: (row) => localTime(row.at) },
            { title: 'who', cell: describeActor },
            { title: 'from', cell: (row) => row.clientAddress ?? '' },
            { title: 'what', cell: (row) => row.sentence.en },
            { title: 'differs', cell: ({ before, after }) => changeDifference(before, after) },
            { title: 'outcome', cell: (row) => [row.outcome, row.errorCode].filter(Boolean).join(' ') },
            { title: 'action', cell: (row) => row.action },
            { title: 'of', cell: (row) => row.subject.id ?? row.subject.kind },
          ]),
        );
      }),
    );
}

function describeActor({ actor: { name, id, localUser } }: ChangeResponse): string {
  if (localUser !== null) return `${localUser}, ${name}`;
  return id === null ? name : `${name} (${id})`;
}
