import type { Command } from 'commander';
import type { NewTokenResponse, TokenResponse } from '../../api/tokens/admin.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { columnsOf } from '../table.ts';

export function tokenCommands(program: Command, kit: CommandKit): void {
  const token = program
    .command('token')
    .description('create, list and revoke named tokens of the admin API, for programs and auditors');

  addCommand(
    token,
    'create <name>',
    'create a token; it is shown once. It opens the admin API over HTTP, /metrics, and commands with --gateway, where ' +
      'FAREGATE_ADMIN_TOKEN has it',
    { name: 'name of the token, such as the program that uses it' },
  )
    .option(
      '--role <role>',
      'auditor: reads everything and changes nothing; operator: changes too (default: auditor, or none with --scope)',
    )
    .option('--scope <scope>', 'export: can export the database for a backup')
    .option('--expires <instant>', 'when the token expires, such as 2027-01-01T00:00:00Z (default: never)')
    .action(
      kit.sends<NewTokenResponse>('POST /tokens', {
        body: ({ name, role, scope, expires }) => ({
          name,
          role,
          scopes: scope === undefined ? [] : [scope],
          expiresAt: expires,
        }),
        text: (created) =>
          `${created.token}\n\nThis is the only time the token is shown. Its name is ${created.name}, its rights are ${rightsOf(created)}, its id is ${created.id}.`,
      }),
    );

  addCommand(
    token,
    'list',
    'list the tokens, newest first, and when each was last used; the token of the environment is not listed',
  ).action(
    kit.lists<TokenResponse>('/tokens', {
      empty: 'There are no tokens. Create one: faregate token create grafana',
      columns: [
        ...columnsOf<TokenResponse>('id', 'name'),
        { title: 'role', cell: rightsOf },
        { title: 'token', cell: (row) => row.prefix },
        ...columnsOf<TokenResponse>('createdAt', 'createdBy', 'expiresAt', 'lastUsedAt', 'revokedAt'),
      ],
    }),
  );

  addCommand(
    token,
    'revoke <token>',
    'revoke a token and all tokens that it created, on every node at once, and suspend the users that it created, except confirmed ones',
    { token: 'the id, such as tok_01…, or the name' },
  )
    .option('--keep-made', 'revoke only this token: keep and confirm the users and tokens that it created')
    .action(
      kit.changing(async (admin, output, { tokenId: id, keepMade }) => {
        await admin.request('DELETE', `/tokens/${id}${keepMade === true ? '?keepMade=true' : ''}`);
        output.print({ id, revoked: true }, () => `Revoked ${id}.`);
      }),
    );
}

const rightsOf = ({ role, scopes }: TokenResponse): string => [...(role === null ? [] : [role]), ...scopes].join(', ');
