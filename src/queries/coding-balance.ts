import type { Query } from './query.ts';

/**
 * What is left of an account's Coding Plan (contract 2.3, 4.10): read, never reserved or charged. Without a plan every
 * field is there all the same, and `message` says why they are empty.
 */
export const codingBalance: Query = {
  async answer(_request, sources) {
    return {
      body: {
        active: false,
        is_active: false,
        isValid: false,
        balance: 0,
        remaining: 0,
        quota: 0,
        usedQuota: 0,
        unit: 'calls',
        planName: null,
        capturedAt: new Date(sources.nowMs()).toISOString(),
        message: 'This account has no Coding Plan.',
        fiveHour: null,
        weekly: null,
        concurrency: null,
        pkg: null,
      },
    };
  },
};
