import type { z } from 'zod';
import { amountNano, section, wholeNumber } from './fields.ts';

/** Limits of a provider, a route or a credential (`docs/routing.md`, "Limits of providers"). */
export const useLimits = section({
  requestsPerMinute: wholeNumber(1, 1_000_000_000).optional().describe('Requests per minute.'),
  tokensPerMinute: wholeNumber(1, 1_000_000_000).optional().describe('Tokens of input and output per minute.'),
  concurrentCalls: wholeNumber(1, 100_000).optional().describe('Maximum number of calls in flight.'),
  dailyCostYuan: amountNano
    .optional()
    .describe('Maximum cost per day, by the `cost` of routes, in the billing time zone.'),
  monthlyCostYuan: amountNano
    .optional()
    .describe('Maximum cost per calendar month, by the `cost` of routes, in the billing time zone.'),
});

export type UseLimitsConfig = z.infer<typeof useLimits>;
