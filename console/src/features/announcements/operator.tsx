import { Badge, Button, Menu } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Announcement } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { useConfirm } from '../../parts/forms/use-confirm.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { AnnouncementDialog } from './announcement-dialog.tsx';
import { announcementTexts } from './texts.ts';

export function AnnouncementsPage() {
  const text = useTexts(announcementTexts);
  const nowMs = useNowMs();
  const mayOperate = useMayOperate();
  const [open, dialog] = useDialog();
  const read = useRead('GET /admin/v1/announcements', {});
  // A new one begins after the last tick of the clock.
  const shownMs = Math.max(nowMs, read.dataUpdatedAt);
  const columns: Column<Announcement>[] = [
    { header: text.words, cell: wordsOf },
    {
      header: text.state,
      cell: (announcement) => {
        const state = stateOf(announcement, shownMs);
        return <Badge color={STATE_COLORS[state]}>{text.states[state]}</Badge>;
      },
    },
    { header: text.level, cell: ({ level }) => text.levels[level] },
    { header: text.audience, cell: ({ audience }) => text.audiences[audience] },
    { header: text.starts, cell: ({ startsAt }) => <Instant at={startsAt} /> },
    { header: text.ends, cell: ({ endsAt }) => <Instant at={endsAt} /> },
    { header: text.by, cell: ({ createdBy }) => createdBy },
  ];
  const found = read.data?.data ?? [];
  return (
    <Page lead={text.lead} actions={mayOperate && <Button onClick={open}>{text.create}</Button>}>
      {read.data === undefined && <ReadState read={read} />}
      {read.data !== undefined && found.length === 0 && <EmptyState title={text.empty} hint={text.emptyHint} />}
      {found.length > 0 && (
        <DataTable
          label={text.words}
          items={found}
          columns={columns}
          actions={mayOperate && ((announcement: Announcement) => <Actions announcement={announcement} />)}
        />
      )}
      <AnnouncementDialog
        endpoint="POST /admin/v1/announcements"
        title={text.create}
        announcement={null}
        input={(body) => ({ body })}
        {...dialog}
      />
    </Page>
  );
}

const STATE_COLORS = { planned: 'blue', shown: 'teal', ended: 'gray' } as const;

function stateOf({ startsAt, endsAt }: Announcement, nowMs: number): keyof typeof STATE_COLORS {
  if (nowMs < Date.parse(startsAt)) return 'planned';
  return nowMs < Date.parse(endsAt) ? 'shown' : 'ended';
}

function wordsOf({ textEn, textZh }: Announcement): string {
  return [textEn, textZh].filter(Boolean).join(' / ');
}

function Actions({ announcement }: { readonly announcement: Announcement }) {
  const text = useTexts(announcementTexts);
  const [open, dialog] = useDialog();
  const [ask, confirmation] = useConfirm();
  const path = { id: announcement.id };
  const words = wordsOf(announcement);
  const remove = () =>
    ask({
      label: text.delete,
      question: text.deleteQuestion(words),
      isDangerous: true,
      endpoint: 'DELETE /admin/v1/announcements/{id}',
      input: { path },
    });
  return (
    <>
      <RowMenu label={text.actionsFor(words)}>
        <Menu.Item onClick={open}>{text.edit}</Menu.Item>
        <Menu.Item color="red" onClick={remove}>
          {text.delete}
        </Menu.Item>
      </RowMenu>
      <AnnouncementDialog
        endpoint="PATCH /admin/v1/announcements/{id}"
        title={text.change}
        announcement={announcement}
        input={(body) => ({ path, body })}
        {...dialog}
      />
      {confirmation}
    </>
  );
}
