import { basisPointsOf, percentOf } from '../../parts/basis-points.ts';
import { type Fields, fieldsOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import type { CatalogEdit } from '../../parts/catalog/edits.ts';
import { edited, editedMembers, filled, numberOrText } from '../../parts/catalog/edits.ts';
import { type PriceDraft, priceDraft, priceEdits, priceLists, withPrices } from '../../parts/catalog/price-lists.ts';

export const LIMITS = ['requestsPerMinute', 'tokensPerMinute', 'dailySpendCapYuan'] as const;
type Limit = (typeof LIMITS)[number];

export interface GroupDraft extends Readonly<Record<Limit, string>> {
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[];
  readonly providers: readonly string[];
  /** Percent; empty for the default. */
  readonly factor: string;
  /** Amounts of the first list of each model. */
  readonly prices: { readonly [model: string]: PriceDraft };
}

export function groupDraft(id: string, fields: Fields): GroupDraft {
  const limits = fieldsOf(fields.limits);
  const factor = textOf(fields.priceFactorBasisPoints);
  return {
    id,
    name: textOf(fields.name),
    models: textsOf(fields.models),
    providers: textsOf(fields.providers),
    factor: /^\d+$/.test(factor) ? percentOf(Number(factor)) : factor,
    prices: Object.fromEntries(
      Object.entries(fieldsOf(fields.prices)).map(([model, price]) => [
        model,
        priceDraft(priceLists(fieldsOf(price))[0]?.fields ?? {}),
      ]),
    ),
    requestsPerMinute: textOf(limits.requestsPerMinute),
    tokensPerMinute: textOf(limits.tokensPerMinute),
    dailySpendCapYuan: textOf(limits.dailySpendCapYuan),
  };
}

export function newGroup(draft: GroupDraft): CatalogEdit[] {
  const limits = filled(limitsOf(draft));
  const prices = Object.fromEntries(
    Object.entries(draft.prices).map(([model, amounts]) => [model, withPrices({}, amounts)]),
  );
  const value = {
    ...filled(membersOf(draft)),
    ...(Object.keys(prices).length > 0 && { prices }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  return [{ path: ['groups', draft.id], value }];
}

export function groupEdits(before: GroupDraft, after: GroupDraft): CatalogEdit[] {
  const path = ['groups', before.id];
  return [
    ...editedMembers(path, membersOf(before), membersOf(after)),
    ...editedMembers([...path, 'limits'], limitsOf(before), limitsOf(after)),
    ...Object.entries(after.prices).flatMap(([model, amounts]) => {
      const at = [...path, 'prices', model];
      const former = before.prices[model];
      return former === undefined ? edited(at, undefined, withPrices({}, amounts)) : priceEdits(at, former, amounts);
    }),
    ...Object.keys(before.prices)
      .filter((model) => after.prices[model] === undefined)
      .map((model) => ({ path: [...path, 'prices', model] })),
  ];
}

function membersOf({ name, models, providers, factor }: GroupDraft) {
  const priceFactorBasisPoints = isFactor(factor) ? basisPointsOf(factor) : factor;
  return { name, models, providers, priceFactorBasisPoints };
}

function limitsOf({ requestsPerMinute, tokensPerMinute, dailySpendCapYuan }: GroupDraft) {
  return {
    requestsPerMinute: numberOrText(requestsPerMinute),
    tokensPerMinute: numberOrText(tokensPerMinute),
    dailySpendCapYuan,
  };
}

/** Whether the text is a percentage that basis points can express. */
export function isFactor(factor: string): boolean {
  return /^\d{1,4}(?:\.\d{1,2})?$/.test(factor);
}
