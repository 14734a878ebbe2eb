import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import {
  type BatchResponse,
  type NewBatchResponse,
  type RedemptionResponse,
  voucherCsv,
} from '../../api/vouchers/wire.ts';
import { resolveAccount } from '../account-reference.ts';
import {
  CliError,
  type CommandKit,
  type CommandOptions,
  IDEMPOTENCY_KEY,
  idempotencyKeyOf,
  UsageError,
} from '../command.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { printTable, renderFields, renderTable } from '../table.ts';

/** In place of a code: it is read from standard input. */
const STANDARD = '-';

/** `faregate voucher …` */
export function voucherCommands(program: Command, kit: CommandKit): void {
  const voucher = program
    .command('voucher')
    .description('make vouchers: codes that members of accounts redeem, each once, for money or a Coding Plan');

  voucher
    .command('create')
    .description('make a batch of vouchers and print it as CSV; the codes are shown this once')
    .option('--value <yuan>', 'what each adds to a balance, such as 50')
    .option('--plan <plan>', 'or the plan that each grants for one period, as the configuration names it')
    .requiredOption('--count <n>', 'how many, 10000 at most')
    .option('--name <name>', 'what to call the batch, for operators (default: what it gives)')
    .option('--expires <instant>', 'from when on no code is taken, such as 2027-01-01T00:00:00Z (default: never)')
    .option('--out <file>', 'a new file for the CSV, which only its owner can read (default: standard output)')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.changing(async (admin, output, _given, options) => {
        const body = toBatch(options);
        const idempotencyKey = idempotencyKeyOf(options);
        // Before the batch is made, because its codes are shown once.
        const file = options.out === undefined ? null : await openNew(String(options.out));
        let made: NewBatchResponse;
        try {
          made = await admin.request('POST', '/vouchers', body, idempotencyKey);
        } catch (error) {
          await file?.discard();
          throw error;
        }
        if (file === null) {
          output.print(made, () => voucherCsv(made).replaceAll('\r\n', '\n').trimEnd());
          return;
        }
        try {
          await file.write(voucherCsv(made));
        } catch (error) {
          throw new CliError(
            `The codes of ${made.id} could not be written and are lost. Cancel it (faregate voucher cancel ${made.id}) and make another one.`,
            { cause: error },
          );
        }
        const { codes: _codes, ...batch } = made;
        output.print(batch, () => `${describeBatch(batch)}\n\nThe codes are in ${options.out}, and nowhere else.`);
      }),
    );

  voucher
    .command('list')
    .description('list the batches, newest first, and how many of each are redeemed')
    .action(
      kit.reading(async (admin, output) => {
        const batches = await listAll<BatchResponse>(admin, '/vouchers', {});
        printTable(output, batches, 'There are no vouchers. Make some: faregate voucher create --value 50 --count 10', [
          { title: 'id', cell: (row) => row.id },
          { title: 'name', cell: (row) => row.name },
          { title: 'gives', cell: gives },
          { title: 'redeemed', cell: (row) => `${row.redeemedCount} of ${row.count}`, align: 'right' },
          { title: 'created', cell: (row) => localTime(row.createdAt) },
          { title: 'by', cell: (row) => row.createdBy },
          { title: 'expires', cell: (row) => localTime(row.expiresAt ?? 'never') },
          { title: 'canceled', cell: (row) => localTime(row.canceledAt ?? '') },
        ]);
      }),
    );

  voucher
    .command('show')
    .description('show a batch, and who has redeemed its vouchers; never a code')
    .argument('<batch>', 'the id of the batch, such as vb_01…')
    .action(
      kit.reading(async (admin, output, [id]) => {
        const batch = await admin.request<BatchResponse>('GET', `/vouchers/${encodeURIComponent(id!)}`);
        const redemptions = await listAll<RedemptionResponse>(admin, `/vouchers/${batch.id}/redemptions`, {});
        output.print({ ...batch, redemptions }, () => `${describeBatch(batch)}\n\n${renderRedemptions(redemptions)}`);
      }),
    );

  voucher
    .command('cancel')
    .description('take no further code of a batch; what is redeemed stays so')
    .argument('<batch>', 'the id of the batch, such as vb_01…')
    .action(
      kit.changing(async (admin, output, [id]) => {
        await admin.request('DELETE', `/vouchers/${encodeURIComponent(id!)}`);
        const batch = await admin.request<BatchResponse>('GET', `/vouchers/${encodeURIComponent(id!)}`);
        const left = batch.count - batch.redeemedCount;
        output.print(batch, () => `Canceled ${left} of ${batch.count} vouchers; ${batch.redeemedCount} were redeemed.`);
      }),
    );

  voucher
    .command('redeem')
    .description('redeem a code for an account; the same code again for the same account changes nothing')
    .argument('<account>', 'id or name')
    .argument('[code]', 'the code; read from standard input if it is absent or "-", so that no shell remembers it')
    .action(
      kit.changing(async (admin, output, [reference, given = '']) => {
        const code = given === '' || given === STANDARD ? await readCode(kit.process.stdin) : given;
        const accountId = await resolveAccount(admin, reference!);
        const redeemed = await admin.request<RedemptionResponse>('POST', `/accounts/${accountId}/vouchers`, { code });
        output.print(redeemed, () => describeRedemption(redeemed));
      }),
    );
}

/** @throws UsageError */
function toBatch({ value, plan, count, name, expires }: CommandOptions): object {
  if ((value === undefined) === (plan === undefined)) throw new UsageError('Name either --value or --plan.');
  if (!/^\d{1,9}$/.test(String(count))) throw new UsageError('--count: Expected a whole number.');
  const usual = value === undefined ? String(plan) : `¥${value}`;
  return { name: name ?? usual, amountYuan: value, planId: plan, count: Number(count), expiresAt: expires };
}

/** @throws UsageError if there is none. */
async function readCode(stdin: Readable | undefined): Promise<string> {
  const code = stdin === undefined ? '' : (await text(stdin)).trim();
  if (code === '') throw new UsageError('Expected a code as an argument or on standard input.');
  return code;
}

/** @throws CliError if there is such a file already, or it cannot be made. */
async function openNew(path: string) {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx', 0o600);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isThere ? 'is there already' : 'cannot be written';
    throw new CliError(`${path} ${reason}; no vouchers were made.`, { cause: error });
  }
  return {
    async write(content: string): Promise<void> {
      await handle.writeFile(content);
      await handle.sync();
      await handle.close();
    },
    async discard(): Promise<void> {
      await handle.close();
      await rm(path, { force: true });
    },
  };
}

const gives = ({ amountYuan, planId }: Pick<BatchResponse, 'amountYuan' | 'planId'>): string =>
  amountYuan === null ? `plan ${planId}` : `¥${amountYuan}`;

const describeBatch = (batch: BatchResponse): string =>
  renderFields([
    ['batch', batch.id],
    ['name', batch.name],
    ['gives', gives(batch)],
    ['redeemed', `${batch.redeemedCount} of ${batch.count}`],
    ['created', `${localTime(batch.createdAt)} by ${batch.createdBy}`],
    ['expires', localTime(batch.expiresAt ?? 'never')],
    ...(batch.canceledAt === null ? [] : [['canceled', localTime(batch.canceledAt)] as const]),
  ]);

const describeRedemption = (redemption: RedemptionResponse): string =>
  renderFields([
    ['account', redemption.accountId],
    ['voucher', `…${redemption.codeEnd}, redeemed ${localTime(redemption.redeemedAt)} by ${redemption.redeemedBy}`],
    redemption.amountYuan === null
      ? ['plan', `${redemption.planId} until ${localTime(redemption.subscriptionEndsAt ?? '')}`]
      : ['added', `¥${redemption.amountYuan} by ${redemption.entryId}`],
  ]);

function renderRedemptions(redemptions: readonly RedemptionResponse[]): string {
  return renderTable(redemptions, 'None of them is redeemed.', [
    { title: 'redeemed', cell: (row) => localTime(row.redeemedAt) },
    { title: 'code', cell: (row) => `…${row.codeEnd}` },
    { title: 'account', cell: (row) => row.accountId },
    { title: 'by', cell: (row) => row.redeemedBy },
    { title: 'entry or subscription', cell: (row) => row.entryId ?? row.subscriptionId ?? '' },
  ]);
}
