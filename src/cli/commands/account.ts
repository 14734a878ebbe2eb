import { type Command, InvalidArgumentError } from 'commander';
import type { PostedEntry } from '../../api/ledger/admin.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { Page } from '../../api/management/response-fields.ts';
import type { AccountResponse, LedgerEntryResponse } from '../../api/management/wire.ts';
import { resolveAccount } from '../account-reference.ts';
import { type CommandKit, IDEMPOTENCY_KEY, idempotencyKeyOf, UsageError } from '../command.ts';
import { accountImportCommand } from '../import/account-import.ts';
import { localTime } from '../local-time.ts';
import type { Output } from '../output.ts';
import { listAll } from '../pages.ts';
import { queryOf } from '../query.ts';
import { printTable, renderFields, renderTable } from '../table.ts';
import { accountMemberCommands } from './account-member.ts';
import { addMinuteOptions, describeMinuteLimits, orNull, readMinuteLimits } from './minute-options.ts';

/** `faregate account …` */
export function accountCommands(program: Command, kit: CommandKit): void {
  const account = program.command('account').description('create, import, list, fund and suspend accounts');

  account
    .command('create')
    .description('create an account')
    .argument('<name>', 'what to call it')
    .option('--email <address>', 'the e-mail address of a contact')
    .option('--verified', 'the account may call models at once')
    .option('--balance <yuan>', 'top it up with this amount')
    .option('--daily-cap <yuan>', 'the most it may spend in a day (default: as configured)')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.changing(async (admin, output, [name], options) => {
        const account = {
          name,
          email: options.email,
          verified: options.verified === true,
          dailySpendCapYuan: options.dailyCap,
          balanceYuan: options.balance,
        };
        const key = idempotencyKeyOf(options);
        output.print(await admin.request<AccountResponse>('POST', '/accounts', account, key), describeAccount);
      }),
    );

  account
    .command('list')
    .description('list accounts, newest first')
    .option('--search <text>', 'only those whose name, e-mail or id has this text')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const query = await queryOf(admin, options, ['search']);
        const accounts = await listAll<AccountResponse>(admin, '/accounts', query);
        printTable(
          output,
          accounts,
          'There are no accounts yet. Create one: faregate account create <name> --verified --balance 10',
          [
            { title: 'id', cell: (row) => row.id },
            { title: 'name', cell: (row) => row.name },
            { title: 'status', cell: (row) => (row.verified ? row.status : 'unverified') },
            { title: 'balance ¥', cell: (row) => row.balanceYuan, align: 'right' },
            { title: 'held ¥', cell: (row) => row.heldYuan, align: 'right' },
            { title: 'today ¥', cell: (row) => row.spentTodayYuan, align: 'right' },
          ],
        );
      }),
    );

  account
    .command('show')
    .description('show an account and its newest ledger entries')
    .argument('<account>', 'id, or a name that only one account has')
    .action(
      kit.reading(async (admin, output, [reference]) => {
        const id = await resolveAccount(admin, reference!);
        const view = await admin.request<AccountResponse>('GET', `/accounts/${id}`);
        const ledger = await admin.request<Page<LedgerEntryResponse>>('GET', `/accounts/${id}/ledger?limit=10`);
        output.print(
          { ...view, ledger: ledger.data },
          () => `${describeAccount(view)}\n\n${describeLedger(ledger.data)}`,
        );
      }),
    );

  const ofAccount = (name: string, description: string): Command =>
    account.command(name).description(description).argument('<account>', 'id or name');

  ofAccount('rename', 'give an account another name; its id stays')
    .argument('<name>', 'what to call it')
    .action(kit.changing((admin, output, [reference, name]) => changeAccount(admin, output, reference!, { name })));

  ofAccount('verify', 'let an account call models')
    .option('--revoke', 'take the verification back')
    .action(
      kit.changing((admin, output, [reference], { revoke }) =>
        changeAccount(admin, output, reference!, { verified: revoke !== true }),
      ),
    );

  addMinuteOptions(
    ofAccount(
      'limit',
      'limit what an account may use; "none" takes a limit away, so that the configuration decides again',
    ).option('--daily-cap <yuan>', 'the most it may spend in a day'),
  ).action(
    kit.changing((admin, output, [reference], options) => {
      const limits = { dailySpendCapYuan: orNull(options.dailyCap), ...readMinuteLimits(options) };
      return changeAccount(admin, output, reference!, limits);
    }),
  );

  const setting = (status: AccountResponse['status']) =>
    kit.changing((admin, output, [reference], { reason }) =>
      changeAccount(admin, output, reference!, { status, statusReason: reason }),
    );

  ofAccount('suspend', 'refuse the calls of an account from now on; its keys, money and plans stay')
    .option(...REASON)
    .addHelpText('after', SUSPEND_HELP)
    .action(setting('suspended'));

  ofAccount('resume', 'accept the calls of a suspended account again')
    .option(...REASON)
    .action(setting('active'));

  ofAccount('set', 'change what an account pays for calls that are admitted from now on, or what its members see')
    .option(
      '--price-factor <factor>',
      'what it pays of the list price: basis points such as 8000, or a percentage such as 80%',
      readPriceFactor,
    )
    .option(
      '--members-see-balance <yes|no>',
      'whether keys of members read its balance; with "no" they read what their own budgets leave',
      readYesOrNo,
    )
    .action(
      kit.changing(async (admin, output, [reference], options) => {
        const { priceFactor: priceFactorBasisPoints, membersSeeBalance } = options;
        if (priceFactorBasisPoints === undefined && membersSeeBalance === undefined) {
          throw new UsageError('Say what to change: --price-factor or --members-see-balance.');
        }
        await changeAccount(admin, output, reference!, { priceFactorBasisPoints, membersSeeBalance });
      }),
    );

  const posting = (entries: 'top-ups' | 'adjustments', said: (amountYuan: string) => string) =>
    kit.changing(async (admin, output, [reference, amountYuan], options) => {
      const path = `/accounts/${await resolveAccount(admin, reference!)}/${entries}`;
      const body = { amountYuan, memo: options.memo };
      const entry = await admin.request<PostedEntry>('POST', path, body, idempotencyKeyOf(options));
      output.print(entry, ({ balanceYuan }) => `${said(amountYuan!)} The balance is ¥${balanceYuan}.`);
    });

  ofAccount('top-up', 'add money to the balance of an account')
    .argument('<yuan>', 'how much, such as 50 or 12.50')
    .option(...MEMO)
    .option(...IDEMPOTENCY_KEY)
    .action(posting('top-ups', (amountYuan) => `Added ¥${amountYuan}.`));

  ofAccount('adjust', 'correct the balance of an account, up or down')
    .argument('<yuan>', 'how much, such as 2.50 or -2.50')
    .requiredOption(...MEMO)
    .option(...IDEMPOTENCY_KEY)
    .action(posting('adjustments', (amountYuan) => `Corrected by ${amountYuan} yuan.`));

  accountImportCommand(account, kit);
  accountMemberCommands(account, kit);
}

const REASON = ['--reason <text>', 'why; "account show" says it'] as const;
const MEMO = ['--memo <text>', 'why; the ledger entry says it'] as const;

const SUSPEND_HELP = `
Every node refuses new calls of the account within a second, with 401 invalid_api_key and a message that says why; its balance
and its plan cannot be asked with its keys either. Calls in flight go on to their end and are charged. The daily cap, the keys
and the subscriptions stay as they are, and time that passes counts for subscriptions as ever.`;

async function changeAccount(
  admin: AdminClient,
  output: Output,
  reference: string,
  change: object,
): Promise<undefined> {
  const id = await resolveAccount(admin, reference);
  output.print(await admin.request<AccountResponse>('PATCH', `/accounts/${id}`, change), describeAccount);
}

function statusOf({ id, status, statusReason, statusChangedAt }: AccountResponse): string {
  const since = statusChangedAt === null ? '' : ` since ${localTime(statusChangedAt)}`;
  const why = statusReason === null ? '' : `: ${statusReason}`;
  return `${status}${since}${why}${status === 'suspended' ? ` (faregate account resume ${id})` : ''}`;
}

function describeAccount(view: AccountResponse): string {
  return renderFields([
    ['id', view.id],
    ['name', view.name],
    ['e-mail', view.email ?? '-'],
    ['verified', view.verified ? 'yes' : `no (faregate account verify ${view.id})`],
    ['status', statusOf(view)],
    ['balance', `¥${view.balanceYuan}`],
    ['held', `¥${view.heldYuan}`],
    ['spent today', `¥${view.spentTodayYuan}`],
    ['daily cap', view.dailySpendCapYuan === null ? 'as configured' : `¥${view.dailySpendCapYuan}`],
    ['own cap', view.ownDailySpendCapYuan === null ? 'none' : `¥${view.ownDailySpendCapYuan} a day`],
    ['price factor', `${view.priceFactorBasisPoints} (${view.priceFactorBasisPoints / 100}% of the list price)`],
    ['members', view.membersSeeBalance ? 'see the balance' : 'do not see the balance'],
    ['limits', describeMinuteLimits(view).join(', ') || 'as configured'],
    ['created', localTime(view.createdAt)],
  ]);
}

function readYesOrNo(text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw new InvalidArgumentError('Expected "yes" or "no".');
  return text === 'yes';
}

/** Basis points, whichever way they are written. */
function readPriceFactor(text: string): number {
  const [, whole, hundredths = '', percent] = /^(\d{1,6})(?:\.(\d{1,2})(?=%))?(%?)$/.exec(text) ?? [];
  if (whole === undefined) {
    throw new InvalidArgumentError('Expected basis points such as 8000, or a percentage such as 80% or 87.5%.');
  }
  return percent === '' ? Number(whole) : Number(whole) * 100 + Number(hundredths.padEnd(2, '0'));
}

function describeLedger(entries: readonly LedgerEntryResponse[]): string {
  return renderTable(entries, 'The ledger is empty.', [
    { title: 'when', cell: (row) => localTime(row.createdAt) },
    { title: 'kind', cell: (row) => row.kind },
    { title: 'amount ¥', cell: (row) => row.amountYuan, align: 'right' },
    { title: 'balance ¥', cell: (row) => row.balanceAfterYuan, align: 'right' },
    { title: 'for', cell: (row) => row.callId ?? row.memo ?? '' },
  ]);
}
