import type { Command } from 'commander';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { NewTokenResponse, TokenResponse } from '../../api/tokens/admin.ts';
import { CliError, type CommandKit } from '../command.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { printTable } from '../table.ts';

/** `faregate token …` */
export function tokenCommands(program: Command, kit: CommandKit): void {
  const token = program
    .command('token')
    .description('create, list and revoke named tokens of the admin API, for programs and for people who look on');

  token
    .command('create')
    .description(
      'create a token; it is shown once. It opens the admin API over HTTP, /metrics, and commands with --gateway, where ' +
        'FAREGATE_ADMIN_TOKEN has it',
    )
    .argument('<name>', 'what to call it, such as the program that uses it')
    .option(
      '--role <role>',
      'auditor: reads everything and changes nothing; operator: changes too (default: auditor, or none with --scope)',
    )
    .option('--scope <scope>', 'export: may take a backup of the database')
    .option('--expires <instant>', 'when it expires, such as 2027-01-01T00:00:00Z (default: never)')
    .action(
      kit.changing(async (admin, output, [name], options) => {
        const created = await admin.request<NewTokenResponse>('POST', '/tokens', {
          name,
          role: options.role,
          scopes: options.scope === undefined ? [] : [options.scope],
          expiresAt: options.expires,
        });
        output.print(
          created,
          () =>
            `${created.token}\n\nThis is the only time the token is shown. It is ${created.name}, ${rightsOf(created)}; its id is ${created.id}.`,
        );
      }),
    );

  token
    .command('list')
    .description('list the tokens, newest first, and when each was used last; that of the environment is none of them')
    .action(
      kit.reading(async (admin, output) => {
        const tokens = await listAll<TokenResponse>(admin, '/tokens', {});
        printTable(output, tokens, 'There are no tokens. Create one: faregate token create grafana', [
          { title: 'id', cell: (row) => row.id },
          { title: 'name', cell: (row) => row.name },
          { title: 'role', cell: rightsOf },
          { title: 'token', cell: (row) => row.prefix },
          { title: 'created', cell: (row) => localTime(row.createdAt) },
          { title: 'by', cell: (row) => row.createdBy },
          { title: 'expires', cell: (row) => localTime(row.expiresAt ?? 'never') },
          { title: 'last used', cell: (row) => localTime(row.lastUsedAt ?? '') },
          { title: 'revoked', cell: (row) => localTime(row.revokedAt ?? '') },
        ]);
      }),
    );

  token
    .command('revoke')
    .description(
      'revoke a token and the tokens that it made, on every node at once, and suspend the users that it made unless they are confirmed',
    )
    .argument('<token>', 'the id, such as tok_01…, or the name')
    .option('--keep-made', 'keep and confirm the users and tokens that it made')
    .action(
      kit.changing(async (admin, output, [reference], options) => {
        const id = await resolveToken(admin, reference!);
        await admin.request('DELETE', `/tokens/${id}${options.keepMade === true ? '?keepMade=true' : ''}`);
        output.print({ id, revoked: true }, () => `Revoked ${id}.`);
      }),
    );
}

const rightsOf = ({ role, scopes }: TokenResponse): string => [...(role === null ? [] : [role]), ...scopes].join(', ');

/** @throws CliError if no token that is not revoked has the name. */
async function resolveToken(admin: AdminClient, reference: string): Promise<string> {
  if (/^tok_[0-9a-z]+$/.test(reference)) return reference;
  const tokens = await listAll<TokenResponse>(admin, '/tokens', {});
  const found = tokens.find(({ name, revokedAt }) => name === reference && revokedAt === null);
  if (found === undefined) throw new CliError(`There is no token "${reference}"; "faregate token list" shows all.`);
  return found.id;
}
