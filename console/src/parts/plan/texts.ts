import { defineTexts } from '../../text/language.tsx';

/** Words of what is left of a Coding Plan. */
export const ringTexts = defineTexts(
  {
    fiveHour: 'Five hours',
    weekly: 'Week',
    quota: 'Tokens of the period',
    concurrency: 'At a time',
    left: (percent: string) => `${percent} left`,
    calls: (used: string, limit: string) => `${used} of ${limit} calls`,
    tokens: (used: string, limit: string) => `${used} of ${limit} tokens`,
    inFlight: (used: string, limit: string) => `${used} of ${limit} calls in flight`,
    sliding: 'Each call returns five hours after it was made.',
    moreAt: { more: (when: string) => `More ${when}`, room: (when: string) => `Room again ${when}` },
    resetsAt: (when: string) => `Begins anew ${when}`,
  },
  {
    fiveHour: '5 小时窗口',
    weekly: '每周窗口',
    quota: '周期 token 额度',
    concurrency: '并发',
    left: (percent: string) => `剩余 ${percent}`,
    calls: (used: string, limit: string) => `已用 ${used} / ${limit} 次`,
    tokens: (used: string, limit: string) => `已用 ${used} / ${limit} token`,
    inFlight: (used: string, limit: string) => `进行中 ${used} / ${limit}`,
    sliding: '每次调用在 5 小时后释放。',
    moreAt: { more: (when: string) => `${when}起陆续恢复`, room: (when: string) => `${when}恢复可用` },
    resetsAt: (when: string) => `${when}重置`,
  },
);
