import { Stack, Text } from '@mantine/core';
import type { Key } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { defineTexts, useTexts } from '../../text/language.tsx';
import { commonTexts } from '../texts.ts';

const texts = defineTexts(
  {
    day: (amount: string) => `${amount} a day`,
    week: (amount: string) => `${amount} a week`,
    month: (amount: string) => `${amount} a month`,
    total: (amount: string) => `${amount} in all`,
    dailyCalls: (count: string) => `${count} calls a day`,
    concurrency: (count: string) => `${count} at a time`,
    requests: (count: string) => `${count} requests a minute`,
    tokens: (count: string) => `${count} tokens a minute`,
    modelLimits: (count: number) => (count === 1 ? '1 model with limits' : `${count} models with limits`),
    models: (count: number) => (count === 1 ? '1 model only' : `${count} models only`),
    networks: (count: number) => (count === 1 ? '1 network only' : `${count} networks only`),
  },
  {
    day: (amount: string) => `每日 ${amount}`,
    week: (amount: string) => `每周 ${amount}`,
    month: (amount: string) => `每月 ${amount}`,
    total: (amount: string) => `累计 ${amount}`,
    dailyCalls: (count: string) => `每日 ${count} 次调用`,
    concurrency: (count: string) => `并发 ${count}`,
    requests: (count: string) => `每分钟 ${count} 次请求`,
    tokens: (count: string) => `每分钟 ${count} token`,
    modelLimits: (count: number) => `${count} 个模型另有限额`,
    models: (count: number) => `仅限 ${count} 个模型`,
    networks: (count: number) => `仅限 ${count} 个网络`,
  },
);

/** As account holders see them, and operators. */
type KeyLimits = Pick<
  Key,
  | 'dailySpendCapYuan'
  | 'weeklySpendCapYuan'
  | 'monthlySpendCapYuan'
  | 'totalSpendCapYuan'
  | 'dailyCalls'
  | 'concurrency'
  | 'requestsPerMinute'
  | 'tokensPerMinute'
  | 'modelLimits'
  | 'allowedModels'
  | 'allowedNetworks'
>;

/** The limits of a key, a line each. */
export function LimitsInShort({ limits }: { readonly limits: KeyLimits }) {
  const short = useTexts(texts);
  const common = useTexts(commonTexts);
  const format = useFormat();
  const lines = [
    limits.dailySpendCapYuan !== null && short.day(format.yuan(limits.dailySpendCapYuan)),
    limits.weeklySpendCapYuan !== null && short.week(format.yuan(limits.weeklySpendCapYuan)),
    limits.monthlySpendCapYuan !== null && short.month(format.yuan(limits.monthlySpendCapYuan)),
    limits.totalSpendCapYuan !== null && short.total(format.yuan(limits.totalSpendCapYuan)),
    limits.dailyCalls !== null && short.dailyCalls(format.count(limits.dailyCalls)),
    limits.concurrency !== null && short.concurrency(format.count(limits.concurrency)),
    limits.requestsPerMinute !== null && short.requests(format.count(limits.requestsPerMinute)),
    limits.tokensPerMinute !== null && short.tokens(format.count(limits.tokensPerMinute)),
    Object.keys(limits.modelLimits).length > 0 && short.modelLimits(Object.keys(limits.modelLimits).length),
    limits.allowedModels !== null && short.models(limits.allowedModels.length),
    limits.allowedNetworks !== null && short.networks(limits.allowedNetworks.length),
  ].filter((line) => line !== false);
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
