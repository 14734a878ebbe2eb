import { Stack, Text } from '@mantine/core';
import type { Key } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { commonTexts } from '../texts.ts';
import { AMOUNTS, COUNTS, type Limits, RATES, USED } from './limit-draft.ts';
import { limitsTexts } from './texts.ts';

/** Limits that keys have and members do not. */
export const OF_KEYS_ALONE = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  modelLimits: {},
  allowedNetworks: null,
} as const;

type Budgets = Pick<Limits, (typeof AMOUNTS)[number]>;
type Spent = Key['usedByModel'][string];

/** The limits of a key or member, one per line, with their usage if known. */
export function LimitsInShort({ limits }: { readonly limits: Limits & Partial<Pick<Key, 'used' | 'usedByModel'>> }) {
  const { inShort, ofTotal, forModel } = useTexts(limitsTexts);
  const common = useTexts(commonTexts);
  const format = useFormat();
  const { used = null, usedByModel = {}, modelBudgets, modelLimits, allowedModels, allowedNetworks } = limits;
  const modelsLimited = Object.keys(modelLimits).length;
  const budgets = (caps: Budgets, spent: Spent | null): string[] =>
    AMOUNTS.flatMap((name) => {
      const cap = caps[name];
      if (cap === null) return [];
      const amount = format.yuan(cap);
      return [inShort[name](spent === null ? amount : ofTotal(format.yuan(spent[USED[name]]), amount))];
    });
  const lines = [
    ...budgets(limits, used),
    ...Object.entries(modelBudgets).flatMap(([model, caps]) =>
      budgets(caps, usedByModel[model] ?? null).map((line) => forModel(model, line)),
    ),
    ...COUNTS.map((name) => {
      const [limit, counted] = [limits[name], USED[name]];
      if (limit === null) return null;
      if (used === null || counted === null) return inShort[name](format.count(limit));
      return inShort[name](ofTotal(format.count(used[counted]), format.count(limit)));
    }),
    ...RATES.map((name) => (limits[name] === null ? null : inShort[name](format.count(limits[name])))),
    modelsLimited === 0 ? null : inShort.modelLimits(modelsLimited),
    allowedModels === null ? null : inShort.allowedModels(allowedModels.length),
    allowedNetworks === null ? null : inShort.allowedNetworks(allowedNetworks.length),
  ].filter((line) => line !== null);
  if (lines.length === 0) return common.noLimit;
  return (
    <Stack gap={0}>
      {lines.map((line) => (
        <Text key={line} size="sm">
          {line}
        </Text>
      ))}
    </Stack>
  );
}
