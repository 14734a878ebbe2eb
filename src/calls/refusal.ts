import type { ReachedRate, Refusal } from '../accounting/reservations/reservation.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError, type GatewayErrorOptions } from '../errors/gateway-error.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import { rateHeaders, resetHeaders } from './relay/call-headers.ts';
import { quotaReset, retryAfter, SOON } from './retry-after.ts';
import type { Settings } from './settings.ts';

/** What decides, besides the refusal itself, what its error says. */
interface RefusalContext {
  readonly policy: EndpointPolicy;
  readonly settings: Settings;
  readonly nowMs: number;
}

/** The error of a refused call. If its limit frees by itself, the error says when. */
export function refusalError(refusal: Refusal, context: RefusalContext): GatewayError {
  const { kind, isPaymentRequired, param } = refusal;
  return new GatewayError(kind, {
    ...(isPaymentRequired && { status: context.policy.moneyStatus }),
    ...(param !== undefined && { param }),
    ...whenToRetry(refusal, context),
  });
}

function whenToRetry(refusal: Refusal, context: RefusalContext): GatewayErrorOptions {
  const { kind, retryAt, windows = [], rate } = refusal;
  if (retryAt === null) return {};
  if (rate !== undefined && retryAt !== 'soon') return minuteReached(rate, retryAt, context);
  if (retryAt === 'soon') {
    const message = SPENDING_KINDS.has(kind) ? `${errorCatalogue[kind].message} ${HELD}` : undefined;
    return { retry: 'yes', headers: SOON, ...(message !== undefined && { message }) };
  }
  const { policy, settings, nowMs } = context;
  const own = { ...resetHeaders(retryAt), ...policy.operation.planHeaders?.(windows, true) };
  return {
    message: `${errorCatalogue[kind].message} ${quotaReset(retryAt, nowMs, settings.localTime)}`,
    resetAtMs: retryAt,
    headers: { ...retryAfter(retryAt, nowMs), ...(settings.config.server.callHeaders && own) },
  };
}

/** A wait that clients may sleep through: its type is not that of a quota that is used up. */
function minuteReached(rate: ReachedRate, retryAtMs: number, context: RefusalContext): GatewayErrorOptions {
  const { settings, nowMs } = context;
  const { of, max, isOfKey, model } = rate;
  const owner = isOfKey ? 'API key' : 'account';
  const seconds = Math.max(Math.ceil((retryAtMs - nowMs) / 1_000), 1);
  const own = { ...resetHeaders(retryAtMs), ...rateHeaders(rate.status, nowMs, context) };
  return {
    message:
      `The limit of ${max} ${of} a minute of this ${owner}${model === null ? '' : ` for ${model}`} is reached. ` +
      `Please try again in ${seconds}s.`,
    headers: { ...retryAfter(retryAtMs, nowMs), ...(settings.config.server.callHeaders && own) },
  };
}

/** Limits of spending, of which calls in flight hold a part. */
const SPENDING_KINDS: ReadonlySet<Refusal['kind']> = new Set([
  'balanceDailyLimitExceeded',
  'keyTotalSpendLimitReached',
  'keyMonthlySpendLimitReached',
  'keyWeeklySpendLimitReached',
  'keySpendLimitReached',
]);

const HELD = 'A part of it is held by calls in flight; try again when one of them has ended.';
