import { Anchor, Button } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useList } from '../../api/queries.ts';
import { AccountStatus } from '../../parts/account-status.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { FilterText } from '../../parts/filters.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { ListTable } from '../../parts/list-table.tsx';
import { hashOf, usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { NewAccountDialog } from './new-account-dialog.tsx';
import { accountsTexts } from './operator-texts.ts';

export function AccountsPage() {
  const text = useTexts(accountsTexts);
  const [{ search = '' }] = usePlaceQuery();
  const mayOperate = useMayOperate();
  const [open, dialog] = usePlaceDialog('new');
  const list = useList('GET /admin/v1/accounts', { query: search === '' ? {} : { search } }, { isTyped: true });
  return (
    <Page
      lead={text.lead}
      actions={
        mayOperate && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            {text.create}
          </Button>
        )
      }
    >
      <Section>
        <FilterText name="search" label={text.search} placeholder={text.searchHint} />
        <div style={{ marginTop: 16 }}>
          <ListTable
            label={text.accounts}
            list={list}
            isInPlace
            columns={[
              {
                header: text.name,
                cell: ({ id, name, email }) => (
                  <>
                    <Anchor href={hashOf(`/operator/accounts/${id}`)} size="sm" fw={600}>
                      {name}
                    </Anchor>
                    <SmallText>{email ?? id}</SmallText>
                  </>
                ),
              },
              { header: text.status, cell: (account) => <AccountStatus account={account} /> },
              {
                header: text.balance,
                isFigure: true,
                cell: ({ balanceYuan }) => <Yuan amount={balanceYuan} isShort />,
              },
              {
                header: text.spentToday,
                isFigure: true,
                cell: ({ spentTodayYuan }) => <Yuan amount={spentTodayYuan} isShort />,
              },
              { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
            ]}
            empty={
              search === '' ? (
                <EmptyState title={text.none} hint={text.noneHint} />
              ) : (
                <EmptyState title={text.noMatch} hint={text.noMatchHint} />
              )
            }
          />
        </div>
      </Section>
      {mayOperate && <NewAccountDialog {...dialog} />}
    </Page>
  );
}
