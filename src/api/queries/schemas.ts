import { z } from 'zod';

/** This file has the schemas of contract 2.3 to 2.6. */

const count = z.int().min(0);
const percent = z.int().min(0).max(100);
const instant = z.iso.datetime();

export const balanceResponse = z
  .strictObject({
    is_active: z.boolean(),
    balance: z.number().describe('The balance in yuan, rounded down to a millionth.'),
    unit: z.literal('CNY'),
  })
  .meta({ id: 'BalanceSnapshot', examples: [{ is_active: true, balance: 12.5, unit: 'CNY' }] });

const yuanLeft = z.number().describe('What is left, in yuan.');

export const billingSubscriptionResponse = z
  .strictObject({
    object: z.literal('billing_subscription'),
    has_payment_method: z.literal(true),
    soft_limit_usd: yuanLeft,
    hard_limit_usd: yuanLeft,
    system_hard_limit_usd: yuanLeft,
    access_until: z.literal(0),
  })
  .meta({ id: 'BillingSubscription' });

export const billingUsageResponse = z
  .strictObject({ object: z.literal('list'), total_usage: z.literal(0) })
  .meta({ id: 'BillingUsage' });

const window = { limit: count, used: count, remaining: count, usedPercent: percent };

export const codingBalanceResponse = z
  .strictObject({
    active: z.boolean().describe('Whether the account has a valid Coding Plan.'),
    is_active: z.boolean().describe('Whether calls remain.'),
    isValid: z.boolean(),
    balance: count.describe('Remaining calls.'),
    remaining: count,
    quota: count,
    usedQuota: count,
    unit: z.literal('calls'),
    planName: z.string().nullable(),
    capturedAt: instant,
    message: z.string().nullable(),
    fiveHour: z.strictObject({ ...window, resetAt: instant }).nullable(),
    weekly: z.strictObject({ ...window, windowStart: instant, windowEnd: instant }).nullable(),
    concurrency: z.strictObject({ limit: count, inFlight: count }).nullable(),
    pkg: z
      .strictObject({
        quotaTokens: count,
        usedTokens: count,
        remainingTokens: count,
        usagePercent: percent,
        periodStart: instant,
        periodEnd: instant,
        supportedModels: z.array(z.string()),
      })
      .nullable(),
  })
  .meta({ id: 'CodingPlanSnapshot' });

const messagesModelMembers = {
  id: z.string(),
  type: z.literal('model'),
  display_name: z.string(),
  created_at: instant,
  max_input_tokens: count.nullable(),
  max_tokens: count.nullable(),
  capabilities: z.null(),
};
const lifecycle = {
  lifecycle: z.literal('active').optional(),
  deprecated_at: z.null().optional(),
  retires_at: z.null().optional(),
  line: z.null().optional(),
};

export const messagesModelResponse = z
  .strictObject({ ...messagesModelMembers, ...lifecycle })
  .meta({ id: 'MessagesModel' });

const sharedModel = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
    type: z.literal('model'),
    display_name: z.string(),
    created_at: instant,
    context_length: count.nullable().describe('Tokens of input and output together.'),
    max_output_tokens: count.nullable(),
    canonical_id: z.string().optional().describe('In a list, the model that this alias refers to.'),
  })
  .meta({ id: 'Model' });

export const modelResponse = z.union([sharedModel, messagesModelResponse]);

const pageMembers = { has_more: z.boolean(), first_id: z.string().nullable(), last_id: z.string().nullable() };

export const modelListResponse = z
  .strictObject({ object: z.literal('list'), data: z.array(modelResponse), ...pageMembers })
  .meta({ id: 'ModelList' });

export const messagesModelListResponse = z
  .strictObject({ data: z.array(messagesModelResponse), ...pageMembers })
  .meta({ id: 'MessagesModelList' });

export const modelListQuery = z.object({
  limit: z
    .int()
    .min(1)
    .optional()
    .meta({ description: 'Maximum number of models per page; without it, the whole list.' }),
  after_id: z.string().optional().meta({ description: 'Only models after this one.' }),
  before_id: z.string().optional().meta({ description: 'Only models before this one.' }),
});

const priceYuan = z
  .string()
  .regex(/^\d+(\.\d{1,9})?$/)
  .nullable()
  .meta({ examples: ['4'] });
const officialPricing = z
  .strictObject({
    inputPriceYuan: z.string(),
    cachedInputPriceYuan: z.string(),
    outputPriceYuan: z.string(),
    discountBasisPoints: z.int().min(1).max(10_000),
  })
  .nullable();
const prices = {
  inputPriceYuan: priceYuan,
  cachedInputPriceYuan: priceYuan,
  outputPriceYuan: priceYuan,
  officialPricing,
};
const period = z.strictObject(prices);

const publicModel = z
  .strictObject({
    modelId: z.string(),
    displayName: z.string(),
    manufacturer: z.string(),
    capability: z.string(),
    description: z.string().nullable(),
    contextLength: z.string().nullable(),
    maxOutputTokens: z.string().nullable(),
    modelSize: z.string().nullable(),
    inputModalities: z.string().nullable(),
    outputModalities: z.string().nullable(),
    docsPath: z.string().nullable(),
    ...prices,
    timePricing: z
      .strictObject({
        activePeriod: z.enum(['PEAK', 'OFF_PEAK']),
        nextSwitchAt: instant,
        schedule: z.string(),
        timezone: z.string(),
        peak: period,
        offPeak: period,
      })
      .nullable(),
    apiInterfaces: z.array(
      z.strictObject({
        id: z.string(),
        operations: z.array(z.strictObject({ id: z.string(), method: z.literal('POST'), path: z.string() })),
      }),
    ),
  })
  .meta({ id: 'PublicModel' });

export const publicModelsResponse = z
  .strictObject({ models: z.array(publicModel), priceUnit: z.string() })
  .meta({ id: 'PublicCatalog' });
