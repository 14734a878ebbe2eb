import { Anchor, Button, Group, Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRead } from '../api/queries.ts';
import type { Account } from '../api/types.ts';
import { SummaryTab } from '../features/accounts/summary.tsx';
import { KeysTab } from '../features/keys/operator.tsx';
import { MoneyTab } from '../features/ledger/operator.tsx';
import { StatementTab } from '../features/ledger/operator-statement.tsx';
import { PeopleTab } from '../features/members/operator.tsx';
import { PlanTab } from '../features/plan/operator.tsx';
import type { PageProps } from '../layout/console-page.ts';
import { AccountStatus } from '../parts/account-status.tsx';
import { CopyText } from '../parts/copy.tsx';
import { DIALOG, hashOf, usePlaceQuery } from '../parts/location.ts';
import { ErrorNotice, ReadState } from '../parts/notices.tsx';
import { Page } from '../parts/page.tsx';
import { useMayOperate } from '../session/may-operate.ts';
import { useTexts } from '../text/language.tsx';
import { accountTexts } from './account-texts.ts';

const TABS: Readonly<Record<TabName, (account: Account) => ReactNode>> = {
  summary: (account) => <SummaryTab account={account} />,
  money: (account) => <MoneyTab account={account} />,
  keys: (account) => <KeysTab accountId={account.id} />,
  plan: (account) => <PlanTab accountId={account.id} />,
  people: (account) => <PeopleTab accountId={account.id} />,
  statement: (account) => <StatementTab account={account} />,
};

type TabName = 'summary' | 'money' | 'keys' | 'plan' | 'people' | 'statement';

export function AccountPage({ id }: PageProps) {
  const text = useTexts(accountTexts);
  const [query, setQuery] = usePlaceQuery();
  const read = useRead('GET /admin/v1/accounts/{id}', { path: { id } }, { isLive: true });
  const mayOperate = useMayOperate();
  const account = read.data;
  if (account === undefined) return <ReadState read={read} />;
  const tab = query.tab !== undefined && Object.hasOwn(TABS, query.tab) ? (query.tab as TabName) : 'summary';
  return (
    <Page
      title={account.name}
      lead={
        <Group gap="xs" component="span">
          <AccountStatus account={account} />
          <CopyText value={account.id} />
        </Group>
      }
      actions={
        <Group gap="md">
          <Anchor href={hashOf('/operator/calls', { accountId: id })}>{text.calls}</Anchor>
          <Anchor href={hashOf('/operator/usage', { accountId: id })}>{text.usage}</Anchor>
          <Anchor href={hashOf('/operator/changes', { accountId: id })}>{text.changes}</Anchor>
          <Anchor href={hashOf('/operator/accounts')}>{text.all}</Anchor>
          {mayOperate && tab !== 'money' && (
            <Button onClick={() => setQuery({ tab: 'money', [DIALOG]: 'top-up' })}>{text.topUp}</Button>
          )}
        </Group>
      }
    >
      <ErrorNotice error={read.error} />
      <Tabs value={tab} onChange={(chosen) => setQuery({ tab: chosen })} keepMounted={false}>
        <Tabs.List mb="md">
          {(Object.keys(TABS) as TabName[]).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {text.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(TABS).map(([name, content]) => (
          <Tabs.Panel key={name} value={name}>
            {name === tab && content(account)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
