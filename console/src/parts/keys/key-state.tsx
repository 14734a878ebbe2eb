import { Badge } from '@mantine/core';
import { defineTexts, useTexts } from '../../text/language.tsx';

export const KEY_STATES = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** The words for the states of keys. */
export const keyStateTexts = defineTexts(
  { active: 'active', expired: 'expired', revoked: 'revoked' },
  { active: '有效', expired: '已过期', revoked: '已吊销' },
);

/** Red is for what has to be looked at: a revoked key is over, as somebody wanted it. */
const COLORS: Readonly<Record<KeyState, string>> = { active: 'teal', expired: 'yellow', revoked: 'gray' };

/** Of an API key or an admin token. */
export function keyStateOf(
  { revokedAt, expiresAt }: { readonly revokedAt: string | null; readonly expiresAt: string | null },
  nowMs: number,
): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active';
}

/** Whether a key can be used, as a word in a colour. */
export function KeyStateBadge({ state }: { readonly state: KeyState }) {
  const text = useTexts(keyStateTexts);
  return <Badge color={COLORS[state]}>{text[state]}</Badge>;
}
