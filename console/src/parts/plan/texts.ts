import { counted } from '../../text/counted.ts';
import { defineTexts } from '../../text/language.tsx';

export const ringTexts = defineTexts(
  {
    fiveHour: 'Five hours',
    weekly: 'Week',
    quota: 'Tokens of the period',
    concurrency: 'Concurrency',
    calls: (left: string, limit: string) => `${left} of ${counted(limit, 'call')} left`,
    tokens: (left: string, limit: string) => `${left} of ${counted(limit, 'token')} left`,
    free: (left: string, limit: string) => `${left} of ${counted(limit, 'call')} free`,
    sliding: 'Each call becomes available again after five hours.',
    moreAt: { more: (when: string) => `More ${when}`, room: (when: string) => `Available ${when}` },
    resetsAt: (when: string) => `Resets ${when}`,
  },
  {
    fiveHour: '5 小时窗口',
    weekly: '每周窗口',
    quota: '周期 token 额度',
    concurrency: '并发',
    calls: (left: string, limit: string) => `剩余 ${left} / ${limit} 次`,
    tokens: (left: string, limit: string) => `剩余 ${left} / ${limit} token`,
    free: (left: string, limit: string) => `空闲 ${left} / ${limit} 个`,
    sliding: '每次调用在 5 小时后释放。',
    moreAt: { more: (when: string) => `${when}起陆续恢复`, room: (when: string) => `${when}恢复可用` },
    resetsAt: (when: string) => `${when}重置`,
  },
);
