import type { Command } from 'commander';
import type { RefundResponse } from '../../api/calls/corrections.ts';
import type { CallResponse } from '../../api/calls/wire.ts';
import { type CommandKit, type CommandOptions, IDEMPOTENCY_KEY, idempotencyKeyOf, UsageError } from '../command.ts';
import { renderFields } from '../table.ts';

const RESOLVE_HELP = `
A call is unresolved if its node died before its end: what it had reserved was given back, nothing was charged, and nobody
knows whether the provider ran it. Ask the provider, then settle it once:

  faregate calls --status unresolved                what there is, with what each call had reserved
  faregate calls resolve call_01… --charge 0.25     charge it: at most what it had reserved
  faregate calls resolve call_01… --tokens 1200     count tokens in the quota of its Coding Plan
  faregate calls resolve call_01… --release         it costs nothing

The record says who did it, when and why, and its status is "resolved". Should the call's own end still come, from the journal
of its node, it changes nothing any more.`;

const REFUND_HELP = `
  faregate calls refund call_01…                    all of the charge that is not refunded yet
  faregate calls refund call_01… --amount 0.10 --memo "broken response" --idempotency-key ticket-42

A refund is an entry of the ledger that names the call. It is added to the balance; what the account has spent today stays as
it is, so a refund makes no room under a daily cap (faregate account show says what the cap is).`;

/** `faregate calls resolve` and `calls refund` */
export function callCorrectionCommands(calls: Command, kit: CommandKit): void {
  calls
    .command('resolve')
    .description('settle a call by hand whose node died')
    .argument('<call>', 'the id of the call, such as call_01…')
    .option('--charge <yuan>', 'charge this amount')
    .option('--tokens <count>', 'count so many tokens on its Coding Plan')
    .option('--release', 'it costs nothing')
    .option('--memo <text>', 'why; the record of the call says it')
    .option('--by <name>', 'who decides (default: $USER)')
    .option(...IDEMPOTENCY_KEY)
    .addHelpText('after', RESOLVE_HELP)
    .action(
      kit.changing(async (admin, output, [id], options) => {
        const by = options.by ?? kit.process.environment.USER;
        const body = { ...readResolution(options), memo: options.memo, by: by === '' ? undefined : by };
        const path = `/calls/${encodeURIComponent(id!)}/resolution`;
        const call = await admin.request<CallResponse>('POST', path, body, idempotencyKeyOf(options));
        output.print(call, () => describeResolved(call));
      }),
    );

  calls
    .command('refund')
    .description('give the charge of a call back, or a part of it')
    .argument('<call>', 'the id of the call, such as call_01…')
    .option('--amount <yuan>', 'how much (default: all that is not refunded yet)')
    .option('--memo <text>', 'why; the ledger entry says it')
    .option(...IDEMPOTENCY_KEY)
    .addHelpText('after', REFUND_HELP)
    .action(
      kit.changing(async (admin, output, [id], options) => {
        const refund = await admin.request<RefundResponse>(
          'POST',
          `/calls/${encodeURIComponent(id!)}/refunds`,
          { amountYuan: options.amount, memo: options.memo },
          idempotencyKeyOf(options),
        );
        output.print(
          refund,
          () =>
            `Refunded ¥${refund.amountYuan}, in all ¥${refund.refundedYuan} of the charge of ¥${refund.chargeYuan}. ` +
            `The balance is ¥${refund.balanceYuan}.`,
        );
      }),
    );
}

function readResolution({ charge, tokens, release }: CommandOptions): object {
  const given = [charge !== undefined, tokens !== undefined, release === true].filter(Boolean).length;
  if (given !== 1) {
    throw new UsageError(
      'Say what the call costs with one of --charge <yuan>, --tokens <count> (on a Coding Plan) and --release. ' +
        'See: faregate calls resolve --help',
    );
  }
  if (charge !== undefined) return { action: 'charge', chargeYuan: charge };
  if (release === true) return { action: 'release' };
  if (!/^\d{1,15}$/.test(String(tokens))) throw new UsageError('--tokens: Expected a whole number, such as 1200.');
  return { action: 'count', tokens: Number(tokens) };
}

function describeResolved({ id, accountId, status, chargeYuan, heldYuan, resolution }: CallResponse): string {
  const cost = chargeYuan === null ? `nothing${tokensOf(resolution)}` : `¥${chargeYuan}`;
  return renderFields([
    ['call', id],
    ['account', accountId],
    ['status', status],
    ['charged', cost],
    ['had reserved', heldYuan === null ? '-' : `¥${heldYuan}`],
    ['resolved by', resolution?.by ?? '-'],
  ]);
}

function tokensOf(resolution: CallResponse['resolution']): string {
  return resolution?.tokens === undefined ? '' : `, ${resolution.tokens} tokens counted on the plan`;
}
