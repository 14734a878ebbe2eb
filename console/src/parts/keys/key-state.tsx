import { Badge } from '@mantine/core';
import { defineTexts, useTexts } from '../../text/language.tsx';

export const KEY_STATES = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

export const keyStateTexts = defineTexts(
  { active: 'active', expired: 'expired', revoked: 'revoked' },
  { active: '有效', expired: '已过期', revoked: '已吊销' },
);

/** Red is reserved for problems. Revocation is intentional. */
const COLORS: Readonly<Record<KeyState, string>> = { active: 'teal', expired: 'yellow', revoked: 'gray' };

/** The state of an API key or admin token. */
export function keyStateOf(
  { revokedAt, expiresAt }: { readonly revokedAt: string | null; readonly expiresAt: string | null },
  nowMs: number,
): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active';
}

export function KeyStateBadge({ state }: { readonly state: KeyState }) {
  const text = useTexts(keyStateTexts);
  return <Badge color={COLORS[state]}>{text[state]}</Badge>;
}
