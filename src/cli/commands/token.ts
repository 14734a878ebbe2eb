import type { NewTokenResponse, TokenResponse } from '../../api/tokens/admin.ts';
import { group } from '../command-rows.ts';
import { columnsOf } from '../table.ts';

const ABOUT = 'create, list and revoke named tokens of the admin API, for programs and auditors';

export const tokenCommands = group('token', ABOUT, {
  'create <name>': {
    about:
      'create a token; it is shown once. It opens the admin API over HTTP, /metrics, and commands with --gateway, where ' +
      'FAREGATE_ADMIN_TOKEN has it',
    with: {
      '<name>': 'name of the token, such as the program that uses it',
      '--role <role>': {
        text: 'auditor: reads everything and changes nothing; operator: changes too (default: auditor, or none with --scope)',
        choices: ['auditor', 'operator'],
      },
      '--scope <scope>': { text: 'export: can export the database for a backup', choices: ['export'] },
      '--expires <instant>': 'when the token expires, such as 2027-01-01T00:00:00Z (default: never)',
    },
    sends: 'POST /tokens',
    body: ({ name, role, scope, expires }) => ({ name, role, scopes: scope ? [scope] : [], expiresAt: expires }),
    text: (created: NewTokenResponse) =>
      `${created.token}\n\nThis is the only time the token is shown. Its name is ${created.name}, its rights are ${rightsOf(created)}, its id is ${created.id}.`,
  },
  list: {
    about: 'list the tokens, newest first, and when each was last used; the token of the environment is not listed',
    lists: '/tokens',
    empty: 'There are no tokens. Create one: faregate token create grafana',
    columns: [
      ...columnsOf<TokenResponse>('id', 'name'),
      { title: 'role', cell: rightsOf },
      ...columnsOf<TokenResponse>('token: prefix', 'createdAt', 'createdBy', 'expiresAt', 'lastUsedAt', 'revokedAt'),
    ],
  },
  'revoke <token>': {
    about:
      'revoke a token and the tokens that it created, on every node at once, and suspend the users that it created unless they are confirmed',
    with: {
      '<token>': 'the id, such as tok_01…, or the name',
      '--keep-made': 'revoke only this token; the users and tokens that it created are kept and confirmed',
    },
    sends: 'DELETE /tokens/:tokenId',
    query: ['keepMade'],
    done: 'revoked',
  },
});

function rightsOf({ role, scopes }: TokenResponse): string {
  return [...(role === null ? [] : [role]), ...scopes].join(', ');
}
