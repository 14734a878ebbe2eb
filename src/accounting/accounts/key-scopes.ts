/** What a key may access. `calls`: the public endpoints; `account`: the account API. */
export const KEY_SCOPES = ['calls', 'account'] as const;

export type KeyScope = (typeof KEY_SCOPES)[number];

export const DEFAULT_SCOPES: readonly KeyScope[] = ['calls'];
