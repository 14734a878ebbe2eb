import { Badge, Group } from '@mantine/core';
import type { Account } from '../api/types.ts';
import { useTexts } from '../text/language.tsx';
import { commonTexts } from './texts.ts';

/** Whether an account is verified, and whether it may make calls. */
export function AccountStatus({ account }: { readonly account: Pick<Account, 'status' | 'verified'> }) {
  const text = useTexts(commonTexts);
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <StatusWord status={account.status} />
      <Badge color={account.verified ? 'teal' : 'yellow'}>{account.verified ? text.verified : text.unverified}</Badge>
    </Group>
  );
}

/** Of an account or a user. */
export function StatusWord({ status }: { readonly status: 'active' | 'suspended' }) {
  const text = useTexts(commonTexts);
  return <Badge color={status === 'active' ? 'teal' : 'red'}>{text[status]}</Badge>;
}
