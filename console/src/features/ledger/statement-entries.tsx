import { Alert, Button, Group } from '@mantine/core';
import { useState } from 'react';
import type { Statement } from '../../api/types.ts';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { Section } from '../../parts/section.tsx';
import { pageTexts } from '../../parts/texts.ts';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';

const texts = pageTexts(
  {
    title: 'Entries beside charges',
    lead: 'Top-ups, refunds and adjustments, oldest first.',
    showAll: (count: number) => `Show all ${count}`,
    callOrReference: 'Call or payment reference',
    cut: 'The month has more of these entries than a statement lists. All of them are in its sums, and the CSV has the sums alone.',
  },
  {
    title: '扣费以外的账目',
    lead: '充值、退款与调账，最早的在前。',
    showAll: (count: number) => `显示全部 ${count} 条`,
    callOrReference: '调用或付款参考号',
    cut: '本月此类账目超出对账单可列出的数量。合计已包含全部账目，CSV 仅含合计。',
  },
);

/** Rendering more takes over a second. */
const SHOWN_AT_FIRST = 50;

interface StatementEntriesProps {
  readonly entries: readonly (Omit<Statement['entries'][number], 'memo'> & { readonly memo?: string | null })[];
  readonly areEntriesCut: boolean;
}

/** Entries of a month other than charges. Only operators see memos. */
export function StatementEntries({ entries, areEntriesCut }: StatementEntriesProps) {
  const text = useTexts(texts);
  const kinds = useTexts(ledgerKindTexts);
  const [isWhole, setWhole] = useState(false);
  if (entries.length === 0) return null;
  const shown = isWhole ? entries : entries.slice(0, SHOWN_AT_FIRST);
  const hasMemos = entries.some(({ memo }) => memo !== undefined);
  return (
    <Section title={text.title} lead={text.lead}>
      <DataTable
        label={text.title}
        items={shown}
        columns={[
          { header: text.when, cell: ({ createdAt }) => <Instant at={createdAt} /> },
          { header: text.kind, cell: ({ kind }) => kinds[kind] },
          { header: text.callOrReference, cell: ({ callId, reference }) => callId ?? reference ?? '–' },
          ...(hasMemos ? [{ header: text.memo, cell: ({ memo }: { memo?: string | null }) => memo ?? '–' }] : []),
          { header: text.amount, cell: ({ amountYuan }) => <Yuan amount={amountYuan} />, isFigure: true },
        ]}
      />
      {shown.length < entries.length && (
        <Group justify="center">
          <Button variant="default" onClick={() => setWhole(true)}>
            {text.showAll(entries.length)}
          </Button>
        </Group>
      )}
      {areEntriesCut && <Alert color="blue">{text.cut}</Alert>}
    </Section>
  );
}
