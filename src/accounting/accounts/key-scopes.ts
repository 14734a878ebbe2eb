/** What a key may be used for: `calls` at the public addresses, `account` at the account API. */
export const KEY_SCOPES = ['calls', 'account'] as const;

export type KeyScope = (typeof KEY_SCOPES)[number];

/** Those of a key for which none are named. */
export const DEFAULT_SCOPES: readonly KeyScope[] = ['calls'];
