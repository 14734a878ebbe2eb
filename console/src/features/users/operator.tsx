import { Tabs } from '@mantine/core';
import { usePlaceQuery } from '../../parts/location.ts';
import { Page } from '../../parts/page.tsx';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';
import { TokensTab } from './tokens-tab.tsx';
import { UsersTab } from './users-tab.tsx';

export function UsersPage() {
  const text = useTexts(usersTexts);
  const [query, setQuery] = usePlaceQuery();
  const tab = query.tab === 'tokens' ? 'tokens' : 'users';
  return (
    <Page lead={text.lead}>
      <Tabs
        value={tab}
        onChange={(chosen) => setQuery({ tab: chosen === 'tokens' ? chosen : null })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="users">{text.users}</Tabs.Tab>
          <Tabs.Tab value="tokens">{text.tokens}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="users">
          <UsersTab />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <TokensTab />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
