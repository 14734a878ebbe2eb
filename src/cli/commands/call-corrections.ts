import type { RefundResponse } from '../../api/calls/corrections.ts';
import type { CallResponse } from '../../api/calls/wire.ts';
import { IDEMPOTENCY_KEY, UsageError } from '../command.ts';
import type { CommandRows, Given } from '../command-rows.ts';
import { fieldsOf, renderFields } from '../table.ts';

const RESOLVE_HELP = `
A call is unresolved if its node died before the call ended: its reservation was released, nothing was charged, and the gateway does not
know whether the provider ran it. Ask the provider, then settle the call once:

  faregate calls --status unresolved                list unresolved calls with their reservations
  faregate calls resolve call_01… --charge 0.25     charge it, at most its reservation
  faregate calls resolve call_01… --tokens 1200     count tokens in the quota of its Coding Plan
  faregate calls resolve call_01… --release         charge nothing

The record of the call then has the status "resolved", and shows who settled it, when and why. If the journal of the dead node
later reports how the call ended, this changes nothing.`;

const REFUND_HELP = `
  faregate calls refund call_01…                    all of the charge that is not refunded yet
  faregate calls refund call_01… --amount 0.10 --memo "broken response" --idempotency-key ticket-42

A refund is a ledger entry that names the call. It is added to the balance, and does not reduce what the account has spent today,
so a daily cap stays used up (faregate account show prints the cap).`;

export const callCorrections: CommandRows = {
  'resolve <call>': {
    about: 'settle a call whose node died',
    with: {
      '--charge <yuan>': 'charge this amount',
      '--tokens <count>': 'count this many tokens in its Coding Plan',
      '--release': 'charge nothing',
      '--memo <text>': 'reason, kept in the record of the call',
      '--by <name>': 'who settles the call (default: $USER)',
      ...IDEMPOTENCY_KEY,
    },
    help: RESOLVE_HELP,
    sends: 'POST /calls/:call/resolution',
    body: (given, { environment }) => ({
      ...readResolution(given),
      memo: given.memo,
      by: (given.by ?? environment.USER) || undefined,
    }),
    text: describeResolved,
  },
  'refund <call>': {
    about: 'refund the charge of a call, or a part of it',
    with: {
      '--amount <yuan>': 'amount in yuan (default: all that is not refunded yet)',
      '--memo <text>': 'reason, kept in the ledger entry',
      ...IDEMPOTENCY_KEY,
    },
    help: REFUND_HELP,
    sends: 'POST /calls/:call/refunds',
    body: ['amountYuan: amount', 'memo'],
    text: ({ amountYuan, refundedYuan, chargeYuan, balanceYuan }: RefundResponse) =>
      `Refunded ¥${amountYuan}, in all ¥${refundedYuan} of the charge of ¥${chargeYuan}. The balance is ¥${balanceYuan}.`,
  },
};

function readResolution({ charge, tokens, release }: Given): object {
  const given = [charge !== undefined, tokens !== undefined, release === true].filter(Boolean).length;
  if (given !== 1) {
    throw new UsageError(
      'Specify what the call costs with one of --charge <yuan>, --tokens <count> (on a Coding Plan) and --release. ' +
        'See: faregate calls resolve --help',
    );
  }
  if (charge !== undefined) return { action: 'charge', chargeYuan: charge };
  if (release === true) return { action: 'release' };
  if (!/^\d{1,15}$/.test(String(tokens))) throw new UsageError('--tokens: Expected a whole number, such as 1200.');
  return { action: 'count', tokens: Number(tokens) };
}

function describeResolved(call: CallResponse): string {
  const { chargeYuan, resolution } = call;
  const counted = resolution?.tokens === undefined ? '' : `, ${resolution.tokens} tokens counted on the plan`;
  return renderFields([
    ...fieldsOf(call, 'call: id', 'account: accountId', 'status'),
    ['charged', chargeYuan === null ? `nothing${counted}` : `¥${chargeYuan}`],
    ...fieldsOf(call, 'had reserved: heldYuan'),
    ['resolved by', resolution?.by ?? '-'],
  ]);
}
