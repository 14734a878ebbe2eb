import type { Readable } from 'node:stream';
import { KEY_PREFIX } from '../../accounting/accounts/key-format.ts';
import type { FoundKeyResponse } from '../../api/keys/key-search.ts';
import type { Page } from '../../api/management/response-fields.ts';
import { SHOWN_CHARS } from '../../lib/secret-text.ts';
import { CliError, type CliProcess, UsageError } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { fieldsOf, renderFields } from '../table.ts';
import { describeKeyLimits } from './limit-options.ts';

const SHOWN_LENGTH = KEY_PREFIX.length + SHOWN_CHARS;
/** Maximum length of the input. A key is many times shorter. */
const INPUT_CHARS_MAX = 1_000;

const HELP = `
  faregate key find sk-fg-Ab12        by the first characters, which lists show
  faregate key find                   paste the whole key, then Enter
  faregate key find < key.txt         the same from a file

A whole key is read from standard input only: other users of the machine can see arguments, and the shell keeps them.`;

export const keyFind: CommandRows = {
  'find [prefix]': {
    about: 'find the owner of a key, by its first characters, or by the whole key on standard input',
    with: { '[prefix]': `the part of the key that lists show, such as ${KEY_PREFIX}Ab12` },
    help: HELP,
    check: ({ prefix }) => refuseWholeKey(prefix),
    async reads(admin, output, { prefix }, process) {
      const body = prefix === undefined ? { key: await readKey(process) } : { prefix };
      const { data, nextCursor } = await admin.request<Page<FoundKeyResponse>>('POST', '/keys/search', body);
      output.print(data, () => {
        if (data.length === 0) return 'No account has such a key.';
        const more = nextCursor === null ? [] : ['More keys match; give more characters of the key.'];
        return [...data.map(describe), ...more].join('\n\n');
      });
      return data.length === 0 ? 1 : 0;
    },
  },
};

/** Refuses an argument of the length of a whole key, which should not be on the command line. @throws UsageError */
function refuseWholeKey(argument: unknown): void {
  if (typeof argument !== 'string' || argument.replace(/…$/, '').length <= SHOWN_LENGTH) return;
  const shown = argument.slice(0, SHOWN_LENGTH);
  const found = /^sk-fg-[0-9A-Za-z]{4}$/.test(shown) ? `"faregate key find ${shown}" prints its id, ` : '';
  throw new UsageError(
    'Do not give a whole key as an argument: other users of the machine see arguments, and the shell keeps them in its history. Run ' +
      '"faregate key find" and paste the key, or read it from a file: faregate key find < key.txt. If this key is valid, it may ' +
      `be in that history now: revoke it (${found}"faregate key revoke <id>" revokes it) and create another one.`,
  );
}

async function readKey({ stdin, writeError }: CliProcess): Promise<string> {
  if (stdin === undefined) throw new CliError('There is no standard input to read the key from.');
  if ('isTTY' in stdin && stdin.isTTY === true) writeError('Paste the key, then press Enter: ');
  const line = (await readLine(stdin)).trim();
  if (line !== '') return line;
  throw new UsageError('Standard input is empty. Give the key there, or its first characters as an argument.');
}

/** Reads the first line only, because input from a terminal does not end. */
async function readLine(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.includes('\n') || text.length > INPUT_CHARS_MAX) break;
  }
  return text.split('\n', 1)[0]!.slice(0, INPUT_CHARS_MAX);
}

function describe(found: FoundKeyResponse): string {
  const { account } = found;
  const status = account.verified ? account.status : `${account.status}, not verified`;
  return renderFields([
    ['account', `${account.name} (${account.id})`],
    ...fieldsOf(account, 'e-mail: email'),
    ['account is', account.statusReason === null ? status : `${status}: ${account.statusReason}`],
    ['key', `${found.name ?? 'without a name'} (${found.id})`],
    ...fieldsOf(found, 'begins with: prefix'),
    ['key is', found.revokedAt === null ? found.status : `${found.status} since ${localTime(found.revokedAt)}`],
    ...fieldsOf(found, 'createdAt', 'expiresAt'),
    ['last used', localTime(found.lastUsedAt ?? 'not known')],
    ['limits', describeKeyLimits(found)],
  ]);
}
