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
    usedOf: (used: string, limit: string) => `${used} of ${limit}`,
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
    usedOf: (used: string, limit: string) => `${used} / ${limit}`,
  },
);

/** As account holders see them, and operators; what is used of them, where that is known. */
type KeyLimits = { readonly used?: Key['used'] } & Pick<
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

/** What keys may have and members have not. */
export const OF_KEYS_ALONE = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  modelLimits: {},
  allowedNetworks: null,
} as const;

/** The limits of a key, or of a member, a line each, with what is used of them. */
export function LimitsInShort({ limits }: { readonly limits: KeyLimits }) {
  const short = useTexts(texts);
  const common = useTexts(commonTexts);
  const format = useFormat();
  const { used = null } = limits;
  const yuan = (cap: string, spent: string | undefined): string =>
    spent === undefined ? format.yuan(cap) : short.usedOf(format.yuan(spent), format.yuan(cap));
  const calls = (limit: number): string =>
    used === null ? format.count(limit) : short.usedOf(format.count(used.dailyCalls), format.count(limit));
  const lines = [
    limits.dailySpendCapYuan !== null && short.day(yuan(limits.dailySpendCapYuan, used?.dailySpendYuan)),
    limits.weeklySpendCapYuan !== null && short.week(yuan(limits.weeklySpendCapYuan, used?.weeklySpendYuan)),
    limits.monthlySpendCapYuan !== null && short.month(yuan(limits.monthlySpendCapYuan, used?.monthlySpendYuan)),
    limits.totalSpendCapYuan !== null && short.total(yuan(limits.totalSpendCapYuan, used?.totalSpendYuan)),
    limits.dailyCalls !== null && short.dailyCalls(calls(limits.dailyCalls)),
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
