import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type BatchResponse,
  type NewBatchResponse,
  type RedemptionResponse,
  voucherCsv,
} from '../../api/vouchers/wire.ts';
import { CliError, IDEMPOTENCY_KEY, idempotencyKeyOf, UsageError } from '../command.ts';
import { type Given, group } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';

/** Argument for standard input. */
const STANDARD = '-';

const ABOUT = 'create vouchers: codes that members of accounts redeem, each once, for money or a Coding Plan';

export const voucherCommands = group('voucher', ABOUT, {
  create: {
    about: 'create a batch of vouchers and print it as CSV; the codes are shown only once',
    with: {
      '--value <yuan>': 'amount in yuan that each voucher adds to a balance, such as 50',
      '--plan <plan>':
        'instead of --value: the plan that each voucher grants for one period, by its id in the configuration',
      '--count <n>': { text: 'how many, 10000 at most', isRequired: true },
      '--name <name>': 'name of the batch, for operators (default: its value or plan)',
      '--expires <instant>': 'when the codes expire, such as 2027-01-01T00:00:00Z (default: never)',
      '--out <file>': 'a new file for the CSV, which only its owner can read (default: standard output)',
      ...IDEMPOTENCY_KEY,
    },
    async changes(admin, output, given) {
      const body = readBatch(given);
      // Opened before the batch is created, because the codes are shown only once.
      const file = given.out === undefined ? null : await openNew(String(given.out));
      let made: NewBatchResponse;
      try {
        made = await admin.request('POST', '/vouchers', body, idempotencyKeyOf(given));
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
          `The codes of ${made.id} could not be written and are lost. Cancel the batch (faregate voucher cancel ${made.id}) and create another one.`,
          { cause: error },
        );
      }
      const { codes: _codes, ...batch } = made;
      output.print(batch, () => `${describeBatch(batch)}\n\nThe codes are in ${given.out}, and nowhere else.`);
    },
  },
  list: {
    about: 'list the batches, newest first, and how many of each are redeemed',
    lists: '/vouchers',
    empty: 'There are no vouchers. Create some: faregate voucher create --value 50 --count 10',
    columns: [
      ...columnsOf<BatchResponse>('id', 'name'),
      { title: 'gives', cell: gives },
      { title: 'redeemed', cell: (row: BatchResponse) => `${row.redeemedCount} of ${row.count}` },
      ...columnsOf<BatchResponse>('createdAt', 'by: createdBy', 'expiresAt', 'canceledAt'),
    ],
  },
  'show <batch>': {
    about: 'show a batch, and who has redeemed its vouchers; codes are not shown',
    async reads(admin, output, { batch: id }) {
      const batch = await admin.request<BatchResponse>('GET', `/vouchers/${encodeURIComponent(String(id))}`);
      const redemptions = await listAll<RedemptionResponse>(admin, `/vouchers/${batch.id}/redemptions`, {});
      output.print({ ...batch, redemptions }, () => `${describeBatch(batch)}\n\n${renderRedemptions(redemptions)}`);
    },
  },
  'cancel <batch>': {
    about: 'cancel a batch: no further code is accepted; redeemed vouchers keep their effect',
    async changes(admin, output, { batch: id }) {
      const path = `/vouchers/${encodeURIComponent(String(id))}`;
      await admin.request('DELETE', path);
      const batch = await admin.request<BatchResponse>('GET', path);
      const left = batch.count - batch.redeemedCount;
      output.print(batch, () => `Canceled ${left} of ${batch.count} vouchers; ${batch.redeemedCount} were redeemed.`);
    },
  },
  'redeem <account> [code]': {
    about: 'redeem a code for an account; the same code again for the same account changes nothing',
    with: {
      '[code]': 'the code; read from standard input if it is absent or "-", so that no shell keeps it in its history',
    },
    async changes(admin, output, { accountId, code = STANDARD }, { stdin }) {
      const body = { code: code === STANDARD ? await readCode(stdin) : code };
      const redeemed = await admin.request<RedemptionResponse>('POST', `/accounts/${accountId}/vouchers`, body);
      output.print(redeemed, () => describeRedemption(redeemed));
    },
  },
});

/** Reads the options of a batch. @throws UsageError if one is missing or invalid */
function readBatch({ value, plan, count, name, expires }: Given): object {
  if ((value === undefined) === (plan === undefined)) throw new UsageError('Give either --value or --plan.');
  if (!/^\d{1,9}$/.test(String(count))) throw new UsageError('--count: Expected a whole number.');
  const gift = value === undefined ? String(plan) : `¥${value}`;
  return { name: name ?? gift, amountYuan: value, planId: plan, count: Number(count), expiresAt: expires };
}

/** Reads a voucher code. @throws UsageError if standard input has none */
async function readCode(stdin: Readable | undefined): Promise<string> {
  const code = stdin === undefined ? '' : (await text(stdin)).trim();
  if (code === '') throw new UsageError('Expected a code as an argument or on standard input.');
  return code;
}

/** Creates a file. @throws CliError if it exists or cannot be created */
async function openNew(path: string) {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx', 0o600);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isThere ? 'exists already' : 'cannot be written';
    throw new CliError(`${path} ${reason}; no vouchers were created.`, { cause: error });
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

function gives({ amountYuan, planId }: BatchResponse): string {
  return amountYuan === null ? `plan ${planId}` : `¥${amountYuan}`;
}

function describeBatch(batch: Omit<NewBatchResponse, 'codes'>): string {
  return renderFields([
    ...fieldsOf(batch, 'batch: id', 'name'),
    ['gives', gives(batch)],
    ['redeemed', `${batch.redeemedCount} of ${batch.count}`],
    ['created', `${localTime(batch.createdAt)} by ${batch.createdBy}`],
    ...fieldsOf(batch, 'expiresAt'),
    batch.canceledAt !== null && ['canceled', localTime(batch.canceledAt)],
  ]);
}

const describeRedemption = (redemption: RedemptionResponse): string =>
  renderFields([
    ...fieldsOf(redemption, 'account: accountId'),
    ['voucher', `…${redemption.codeEnd}, redeemed ${localTime(redemption.redeemedAt)} by ${redemption.redeemedBy}`],
    redemption.amountYuan === null
      ? ['plan', `${redemption.planId} until ${localTime(redemption.subscriptionEndsAt ?? '')}`]
      : ['added', `¥${redemption.amountYuan} by ${redemption.entryId}`],
  ]);

function renderRedemptions(redemptions: readonly RedemptionResponse[]): string {
  return renderTable(redemptions, 'None of them is redeemed.', [
    ...columnsOf<RedemptionResponse>('redeemedAt'),
    { title: 'code', cell: (row) => `…${row.codeEnd}` },
    ...columnsOf<RedemptionResponse>('account: accountId', 'by: redeemedBy'),
    { title: 'entry or subscription', cell: (row) => row.entryId ?? row.subscriptionId ?? '' },
  ]);
}
