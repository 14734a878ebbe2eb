import { Badge, Group } from '@mantine/core';
import type { Account } from '../api/types.ts';
import { useTexts } from '../text/language.tsx';
import { commonTexts } from './texts.ts';

export function AccountStatus({ account }: { readonly account: Pick<Account, 'status' | 'verified'> }) {
  const text = useTexts(commonTexts);
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <StatusWord status={account.status} />
      <Badge color={account.verified ? 'teal' : 'yellow'}>{account.verified ? text.verified : text.unverified}</Badge>
    </Group>
  );
}

export function StatusWord({ status }: { readonly status: 'active' | 'suspended' }) {
  const text = useTexts(commonTexts);
  return <Badge color={status === 'active' ? 'teal' : 'red'}>{text[status]}</Badge>;
}
