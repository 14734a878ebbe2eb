import { z } from 'zod';
import type { RefundableCall } from '../../accounting/corrections/refund.ts';
import type { RefundStore } from '../../accounting/corrections/refund-store.ts';
import type { Resolution, ResolutionRefusal, ResolvableCall } from '../../accounting/corrections/resolution.ts';
import type { ResolutionStore } from '../../accounting/corrections/resolution-store.ts';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import { runningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, Repeat, unprocessable } from '../management/endpoint.ts';
import { operatorOf } from '../management/operator.ts';
import { yuan } from '../management/response-fields.ts';
import { capYuan, ledgerEntryId, positiveAmountYuan, shortText } from '../management/wire.ts';
import { type CallAdminDependencies, noCall, readCall } from './admin.ts';
import { callResponse } from './wire.ts';

interface CallCorrectionDependencies extends Pick<CallAdminDependencies, 'accounts' | 'calls'> {
  readonly refunds: RefundStore;
  readonly resolutions: ResolutionStore;
  readonly clock: Clock;
  readonly databaseNowMs: () => Promise<number>;
  readonly localTime: () => LocalTime;
}

const said = { memo: shortText.nullish(), by: shortText.nullish() };
const TOKENS = { error: 'Expected a whole number of tokens, 0 or more.' };
const resolution = z.discriminatedUnion(
  'action',
  [
    z.strictObject({ action: z.literal('charge'), chargeYuan: capYuan, ...said }),
    z.strictObject({ action: z.literal('count'), tokens: z.number(TOKENS).int(TOKENS).min(0, TOKENS), ...said }),
    z.strictObject({ action: z.literal('release'), ...said }),
  ],
  { error: 'Expected an object with the action "charge", "count" or "release".' },
);

const refund = z.strictObject({ amountYuan: positiveAmountYuan.nullish(), memo: shortText.nullish() });

const refundResponse = z
  .strictObject({
    entryId: z.string(),
    callId: z.string(),
    amountYuan: yuan,
    refundedYuan: yuan.describe('The total refunded for the call.'),
    chargeYuan: yuan,
    balanceYuan: yuan,
  })
  .meta({ id: 'Refund' });
export type RefundResponse = z.infer<typeof refundResponse>;

export function callCorrectionEndpoints(dependencies: CallCorrectionDependencies): AdminEndpoint[] {
  const { refunds, resolutions, clock, databaseNowMs, localTime } = dependencies;
  const subject: ChangeSubject = { kind: 'call', read: (id) => readCall(dependencies, id) };
  return [
    adminEndpoint({
      method: 'POST',
      path: '/calls/:id/resolution',
      subject,
      summary: 'Resolve an unresolved call: charge it, count its tokens on its plan, or release it',
      body: resolution,
      isRepeatable: true,
      response: callResponse,
      async run({ id, body, idempotencyKey }, { actor }) {
        const atMs = await databaseNowMs();
        const result = await resolutions.resolve({
          callId: id,
          resolution: toResolution(body),
          ...operatorOf(actor, body.by ?? null),
          memo: body.memo ?? null,
          idempotencyKey,
          periods: runningPeriods(localTime(), atMs),
        });
        switch (result.outcome) {
          case 'unknown_call':
            throw await noCall(dependencies, id);
          case 'in_flight':
            throw conflict(
              'The call is in flight. Its node completes it; if the node died, the call becomes unresolved within 30 seconds.',
            );
          case 'key_conflict':
            throw conflict('This Idempotency-Key was used for another entry of the account. Use a new one.');
          case 'refused':
            throw RESOLUTION_ERRORS[result.refusal](result.call);
          case 'resolved':
          case 'repeated':
            return Repeat.if(result.outcome === 'repeated', await readCall(dependencies, id));
        }
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/calls/:id/refunds',
      subject: { ...subject, noted: ({ body: { memo = null } }) => ({ memo }) },
      status: 201,
      summary: 'Refund the charge of a call, in full or in part; refunds never exceed the charge',
      body: refund,
      isRepeatable: true,
      response: refundResponse,
      async run({ id, body, idempotencyKey }) {
        const result = await refunds.refund({
          callId: id,
          amountNano: body.amountYuan ?? null,
          memo: body.memo ?? null,
          idempotencyKey,
          at: new Date(clock.nowMs()),
        });
        switch (result.outcome) {
          case 'unknown_call':
            throw await noCall(dependencies, id);
          case 'key_conflict':
            throw conflict(
              'This Idempotency-Key was used for another entry of the account, or another refund. Use a new one.',
            );
          case 'out_of_range':
            throw unprocessable('The balance would exceed the maximum.', 'amountYuan');
          case 'refused':
            throw refundError(result.refusal, result.call);
          case 'refunded':
          case 'repeated': {
            const { entry, call } = result;
            return Repeat.if(result.outcome === 'repeated', {
              entryId: ledgerEntryId(entry.accountId, entry.entryNo),
              callId: id,
              amountYuan: formatYuan(entry.amountNano),
              refundedYuan: formatYuan(call.refundedNano),
              chargeYuan: formatYuan(call.chargeNano ?? 0n),
              balanceYuan: formatYuan(entry.balanceAfterNano),
            });
          }
        }
      },
    }),
  ];
}

function toResolution(body: z.infer<typeof resolution>): Resolution {
  switch (body.action) {
    case 'charge':
      return { action: 'charge', chargeNano: body.chargeYuan };
    case 'count':
      return { action: 'count', tokens: body.tokens };
    case 'release':
      return { action: 'release' };
  }
}

const RESOLUTION_ERRORS: Readonly<Record<ResolutionRefusal, (call: ResolvableCall) => GatewayError>> = {
  ended: (call) =>
    conflict(
      `The call has already ended: it is ${call.status} and ${chargeOf(call)}. Only an unresolved call can be resolved; ` +
        'use a refund to return a charge.',
    ),
  resolved_otherwise: (call) =>
    conflict(
      `The call was already resolved at ${call.notes?.resolution?.at}: it was ${resolvedAs(call)}. It can be resolved only ` +
        'once. Use a refund to return a charge, or an adjustment to charge more.',
    ),
  charge_on_plan: () =>
    unprocessable('The call ran on a Coding Plan and costs no money. Count its tokens, or release it.'),
  charge_above_reserved: ({ reservedNano }) =>
    unprocessable(
      `chargeYuan: The call had reserved ¥${formatYuan(reservedNano ?? 0n)} and can be charged at most that amount.`,
      'chargeYuan',
    ),
  tokens_without_plan: () =>
    unprocessable('The call ran on the balance, not on a Coding Plan. Charge it, or release it.'),
  tokens_unknown: () => unprocessable('The tokens that the call reserved on its plan are not recorded. Release it.'),
  tokens_above_reserved: ({ notes }) =>
    unprocessable(
      `tokens: The call had reserved ${notes?.reservedTokens?.tokens} tokens, which is the most that can be counted.`,
      'tokens',
    ),
};

function resolvedAs({ chargeNano, notes }: ResolvableCall): string {
  const resolution = notes?.resolution;
  if (resolution?.action === 'charge') return `charged ¥${formatYuan(chargeNano ?? 0n)}`;
  return resolution?.action === 'count' ? `counted with ${resolution.tokens} tokens` : 'released';
}

const chargeOf = ({ chargeNano }: ResolvableCall): string =>
  chargeNano === null ? 'was not charged' : `was charged ¥${formatYuan(chargeNano)}`;

function refundError(refusal: 'not_charged' | 'refunded_already' | 'above_charge', call: RefundableCall): GatewayError {
  const { chargeNano, refundedNano } = call;
  const charge = `¥${formatYuan(chargeNano ?? 0n)}`;
  switch (refusal) {
    case 'not_charged':
      return conflict('The call was not charged, so there is nothing to refund. Use an adjustment if money is due.');
    case 'refunded_already':
      return conflict(`All of the charge of ${charge} has been refunded already.`);
    case 'above_charge':
      return unprocessable(
        `amountYuan: The charge is ${charge}, of which ¥${formatYuan(refundedNano)} has been refunded already; at most ` +
          `¥${formatYuan((chargeNano ?? 0n) - refundedNano)} can be refunded.`,
        'amountYuan',
      );
  }
}
