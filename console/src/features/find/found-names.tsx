import { Anchor, Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Account, User, VoucherBatch } from '../../api/types.ts';
import { StatusWord } from '../../parts/account-status.tsx';
import { Instant } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { findTexts } from './texts.ts';

const FOUND_MAX = 10;

/** The list of vouchers filtered by batch name or id. */
export const batchesAt = (search: string): string => hashOf('/operator/vouchers', { search });

/** Finds accounts, users and voucher batches by name, e-mail address or id. */
export function useFoundNames(search: string, isWanted: boolean) {
  const query = { search, limit: FOUND_MAX };
  const accounts = useRead('GET /admin/v1/accounts', { query }, { isWanted });
  const users = useRead('GET /admin/v1/users', { query }, { isWanted });
  const batches = useRead('GET /admin/v1/vouchers', { query }, { isWanted });
  return {
    accounts: accounts.data?.data ?? [],
    users: users.data?.data ?? [],
    batches: batches.data?.data ?? [],
    /** Whether there are more results, or the search stopped at its time limit. */
    hasMore: [accounts, users, batches].some(({ data }) => (data?.nextCursor ?? null) !== null),
    isPending: isWanted && (accounts.isPending || users.isPending || batches.isPending),
    error: accounts.error ?? users.error ?? batches.error,
  };
}

type FoundNamesProps = Pick<ReturnType<typeof useFoundNames>, 'accounts' | 'users' | 'batches' | 'hasMore'>;

export function FoundNames({ accounts, users, batches, hasMore }: FoundNamesProps) {
  const text = useTexts(findTexts);
  const accountColumns: Column<Account>[] = [
    { header: text.name, cell: ({ id, name }) => <AccountLink accountId={id} name={name} /> },
    { header: text.email, cell: ({ email }) => email ?? '–' },
    { header: text.status, cell: ({ status }) => <StatusWord status={status} /> },
    { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} /> },
  ];
  const userColumns: Column<User>[] = [
    {
      header: text.name,
      cell: ({ id, name }) => <Anchor href={hashOf('/operator/users', { search: id })}>{name}</Anchor>,
    },
    { header: text.email, cell: ({ email }) => email ?? '–' },
    { header: text.status, cell: ({ status }) => <StatusWord status={status} /> },
    {
      header: text.accounts,
      cell: ({ memberships }) => (
        <Stack gap={0}>
          {memberships.map(({ accountId, accountName }) => (
            <AccountLink key={accountId} accountId={accountId} name={accountName} />
          ))}
        </Stack>
      ),
    },
  ];
  const batchColumns: Column<VoucherBatch>[] = [
    { header: text.name, cell: ({ id, name }) => <Anchor href={batchesAt(id)}>{name}</Anchor> },
    { header: text.redeemed, cell: ({ redeemedCount, count }) => `${redeemedCount} / ${count}`, isFigure: true },
    { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} /> },
  ];
  return (
    <>
      <Found title={text.accounts} items={accounts} columns={accountColumns} />
      <Found title={text.people} items={users} columns={userColumns} />
      <Found title={text.batches} items={batches} columns={batchColumns} />
      {hasMore && <Text size="sm">{text.moreNames}</Text>}
    </>
  );
}

interface FoundProps<Item> {
  readonly title: string;
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item>[];
}

export function Found<Item extends { readonly id: string }>({ title, items, columns }: FoundProps<Item>) {
  if (items.length === 0) return null;
  return (
    <Section title={title}>
      <DataTable label={title} items={items} idOf={({ id }) => id} columns={columns} />
    </Section>
  );
}
