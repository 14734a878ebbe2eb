import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { KEY_PREFIX } from '../../accounting/accounts/key-format.ts';
import type { FoundKeyResponse } from '../../api/keys/key-search.ts';
import type { Page } from '../../api/management/response-fields.ts';
import { SHOWN_CHARS } from '../../lib/secret-text.ts';
import { CliError, type CliProcess, type CommandKit, UsageError } from '../command.ts';
import { localTime } from '../local-time.ts';
import { renderFields } from '../table.ts';

const SHOWN_LENGTH = KEY_PREFIX.length + SHOWN_CHARS;
/** Far more than a key has. */
const INPUT_CHARS_MAX = 1_000;

const HELP = `
  faregate key find sk-fg-Ab12        by what lists show of a key
  faregate key find                   paste the whole key, then Enter
  faregate key find < key.txt         the same from a file

A whole key is read from standard input only: arguments are seen by other users of the machine and kept by the shell.`;

/** `faregate key find` */
export function keyFindCommand(key: Command, kit: CommandKit, describeLimits: (key: FoundKeyResponse) => string): void {
  const find = kit.reading(async (admin, output, [prefix]) => {
    const asked = prefix === '' ? { key: await readKey(kit.process) } : { prefix };
    const { data, nextCursor } = await admin.request<Page<FoundKeyResponse>>('POST', '/keys/search', asked);
    output.print(data, () => {
      if (data.length === 0) return 'No account has such a key.';
      const more = nextCursor === null ? [] : ['There are more; give more characters of the key.'];
      return [...data.map((found) => describe(found, describeLimits(found))), ...more].join('\n\n');
    });
    return data.length === 0 ? 1 : 0;
  });
  key
    .command('find')
    .description('say whose key it is, by its first characters, or by the whole key on standard input')
    .argument('[prefix]', `what lists show of it, such as ${KEY_PREFIX}Ab12`)
    .addHelpText('after', HELP)
    .action(async (...given: unknown[]) => {
      refuseWholeKey(given[0]);
      await find(...given);
    });
}

/** @throws UsageError before anything is asked, whether or not it is a real key. */
function refuseWholeKey(argument: unknown): void {
  if (typeof argument !== 'string' || argument.replace(/…$/, '').length <= SHOWN_LENGTH) return;
  const shown = argument.slice(0, SHOWN_LENGTH);
  const found = /^sk-fg-[0-9A-Za-z]{4}$/.test(shown) ? `"faregate key find ${shown}" names its id, ` : '';
  throw new UsageError(
    'A whole key is no argument: other users of the machine see arguments, and the shell keeps them in its history. Run ' +
      '"faregate key find" and paste the key, or give it a file: faregate key find < key.txt. If this was a key that works, it ' +
      `may be in that history by now: revoke it (${found}"faregate key revoke <id>" revokes it) and create another one.`,
  );
}

async function readKey({ stdin, writeError }: CliProcess): Promise<string> {
  if (stdin === undefined) throw new CliError('There is no standard input to read the key from.');
  if ('isTTY' in stdin && stdin.isTTY === true) writeError('Paste the key, then press Enter: ');
  const line = (await readLine(stdin)).trim();
  if (line !== '') return line;
  throw new UsageError('Standard input is empty. Give the key there, or its first characters as an argument.');
}

/** The first line, without waiting for the end of what a terminal keeps open. */
async function readLine(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.includes('\n') || text.length > INPUT_CHARS_MAX) break;
  }
  return text.split('\n', 1)[0]!.slice(0, INPUT_CHARS_MAX);
}

function describe(found: FoundKeyResponse, limits: string): string {
  const { account } = found;
  const status = account.verified ? account.status : `${account.status}, not verified`;
  return renderFields([
    ['account', `${account.name} (${account.id})`],
    ['e-mail', account.email ?? '-'],
    ['account is', account.statusReason === null ? status : `${status}: ${account.statusReason}`],
    ['key', `${found.name ?? 'without a name'} (${found.id})`],
    ['begins with', found.prefix],
    ['key is', statusOf(found)],
    ['created', localTime(found.createdAt)],
    ['expires', found.expiresAt === null ? 'never' : localTime(found.expiresAt)],
    ['last used', found.lastUsedAt === null ? 'not known' : localTime(found.lastUsedAt)],
    ['limits', limits],
  ]);
}

function statusOf({ status, revokedAt }: FoundKeyResponse): string {
  return revokedAt === null ? status : `${status} since ${localTime(revokedAt)}`;
}
