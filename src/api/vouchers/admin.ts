import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { RedemptionStore } from '../../accounting/vouchers/redemption-store.ts';
import type { VoucherGift } from '../../accounting/vouchers/voucher.ts';
import { createVoucherCode, hashVoucherCode, shownEnd, storedVoucher } from '../../accounting/vouchers/voucher-code.ts';
import type { VoucherRedeemer } from '../../accounting/vouchers/voucher-redeemer.ts';
import type { VoucherStore } from '../../accounting/vouchers/vouchers-store.ts';
import { didYouMean } from '../../config/suggest.ts';
import { GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import { signatureOf } from '../../people/actor.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import {
  type ChangeSubject,
  conflict,
  LineStream,
  notFound,
  orNotFound,
  Repeat,
  unprocessable,
} from '../management/endpoint.ts';
import { CSV_TYPE } from '../management/list-csv.ts';
import { pageOf } from '../management/response-fields.ts';
import { filterText, instant, page, positiveAmountYuan, shortText, toPage } from '../management/wire.ts';
import { redeemError, voucherCodeBody } from './voucher-code.ts';
import {
  batchResponse,
  batchToWire,
  foundVoucherResponse,
  newBatchResponse,
  redemptionResponse,
  redemptionToWire,
  voucherCsv,
} from './wire.ts';

interface VoucherAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findNames'>;
  readonly vouchers: VoucherStore;
  readonly redemptions: Pick<RedemptionStore, 'list' | 'find'>;
  readonly redeemer: VoucherRedeemer;
  readonly plans: () => readonly PlanTerms[];
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
  readonly fillRandom?: FillRandom;
}

const BATCH_MAX = 10_000;
/** Maximum number of batches on a page, because the redemptions of each one are counted. */
const BATCHES_MAX = 50;

const newBatch = z
  .strictObject({
    name: shortText,
    amountYuan: positiveAmountYuan.nullish(),
    planId: shortText.nullish(),
    count: z.int().min(1).max(BATCH_MAX),
    expiresAt: instant.nullish(),
  })
  .meta({ examples: [{ name: 'spring fair', amountYuan: '50', count: 2 }] });
const voucherList = z.strictObject(page);
const batchList = voucherList.extend({ search: filterText.optional() });

export function voucherEndpoints(dependencies: VoucherAdminDependencies): AdminEndpoint[] {
  const {
    accounts,
    vouchers,
    redemptions,
    redeemer,
    plans,
    databaseNowMs,
    ids,
    fillRandom = randomFillSync,
  } = dependencies;

  function giftOf({ amountYuan = null, planId = null }: z.infer<typeof newBatch>): VoucherGift {
    if ((amountYuan === null) === (planId === null)) {
      throw invalidRequest('amountYuan: Expected either amountYuan or planId.', 'amountYuan');
    }
    if (amountYuan !== null) return { kind: 'value', amountNano: amountYuan };
    const known = plans().map(({ id }) => id);
    if (!known.includes(planId!)) {
      const name = quoted(planId!);
      throw invalidRequest(`planId: There is no plan ${JSON.stringify(name)}.${didYouMean(name, known)}`, 'planId');
    }
    return { kind: 'plan', planId: planId! };
  }

  const subject: ChangeSubject = {
    kind: 'voucher',
    async read(id) {
      const found = await vouchers.find(id);
      return found && batchToWire(found);
    },
  };

  return [
    adminEndpoint({
      method: 'POST',
      path: '/vouchers',
      status: 201,
      summary: 'Create a batch of vouchers; their codes are shown only once',
      body: newBatch,
      isRepeatable: true,
      response: newBatchResponse,
      lines: { mediaType: 'text/csv', description: 'One line per code with its value.' },
      async run({ body, idempotencyKey, wantsCsv }, { actor }) {
        const gift = giftOf(body);
        const now = new Date(await databaseNowMs());
        const expiresAt = body.expiresAt ?? null;
        if (expiresAt !== null && expiresAt <= now) {
          throw unprocessable('expiresAt: The expiry is in the past.', 'expiresAt');
        }
        const codes = Array.from({ length: body.count }, () => createVoucherCode(fillRandom));
        const made = await vouchers.insert({
          id: ids.next('vb'),
          name: body.name,
          gift,
          vouchers: codes.map(storedVoucher),
          expiresAt,
          at: now,
          createdBy: signatureOf(actor),
          idempotencyKey,
        });
        if ('earlier' in made) {
          throw conflict(
            `The batch ${made.earlier.id} was already created with this Idempotency-Key, and its codes cannot be shown again. ` +
              'If you lost them, cancel the batch and create another one with a new key.',
          );
        }
        const shown = { ...batchToWire(made.batch), codes };
        return wantsCsv ? LineStream.of(voucherCsv(shown), CSV_TYPE, shown) : shown;
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/vouchers',
      summary: `List and search batches of vouchers with the number of redemptions, newest first, at most ${BATCHES_MAX} per page`,
      query: batchList,
      response: pageOf(batchResponse),
      async run({ query: { search, cursor, limit } }) {
        const { items, next } = await vouchers.list(search, cursor ?? null, Math.min(limit, BATCHES_MAX), LIST_TIMING);
        return { data: items.map(batchToWire), nextCursor: next };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/vouchers/search',
      isChange: false,
      summary: 'Find the batch and redemption of a voucher code',
      body: voucherCodeBody,
      response: foundVoucherResponse,
      async run({ body: { code } }) {
        const codeHash = hashVoucherCode(code);
        const batch = await vouchers.findByCode(codeHash);
        // The error does not quote the code, which could be another secret that was entered by mistake.
        if (batch === null) throw new GatewayError('pathUnknown', { message: 'There is no such voucher.' });
        const redemption = await redemptions.find(codeHash);
        const names = await accountNamesOf(accounts, redemption === null ? [] : [redemption]);
        return {
          codeEnd: shownEnd(code),
          batch: batchToWire(batch),
          redemption: redemption && redemptionToWire(redemption, names),
        };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/vouchers/:id',
      summary: 'Read a batch of vouchers, without its codes',
      response: batchResponse,
      run: async ({ id }) => batchToWire(orNotFound(await vouchers.find(id), 'batch of vouchers', id)),
    }),
    adminEndpoint({
      method: 'GET',
      path: '/vouchers/:id/redemptions',
      summary: 'List the redemptions of a batch, newest first',
      query: voucherList,
      response: pageOf(redemptionResponse),
      async run({ id, query }) {
        const found = await redemptions.list(id, query.cursor ?? null, query.limit);
        if (found.length === 0 && (await vouchers.find(id)) === null) throw notFound('batch of vouchers', id);
        const names = await accountNamesOf(accounts, found);
        const wires = found.map((redemption) => redemptionToWire(redemption, names));
        return toPage(wires, query.limit, (redemption) => redemption.id);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/vouchers/:id',
      subject,
      summary: 'Cancel all unredeemed vouchers of a batch',
      async run({ id }) {
        if (!(await vouchers.cancel(id, new Date(await databaseNowMs())))) throw notFound('batch of vouchers', id);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/vouchers',
      subject: { kind: 'voucher', isMadeInAccount: true },
      status: 201,
      summary: 'Redeem a voucher for an account; a repeat changes nothing, even without an Idempotency-Key',
      body: voucherCodeBody,
      response: redemptionResponse,
      async run({ id, body }, { actor }) {
        const result = await redeemer.redeem(id, body.code, signatureOf(actor));
        if (!('redemption' in result)) throw redeemError(result.outcome, id);
        const { outcome, redemption } = result;
        const names = await accountNamesOf(accounts, [redemption]);
        return Repeat.if(outcome === 'repeated', redemptionToWire(redemption, names));
      },
    }),
  ];
}
