import { Stack, Title } from '@mantine/core';
import type { CheckedCatalog } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { Yuan } from '../figures.tsx';
import { DataTable } from '../list-table.tsx';
import { DimmedText } from '../small.ts';
import { catalogTexts } from './texts.ts';

/** What example calls to the changed models cost before and after a change, and the margin over the cost of the dearest route. */
export function Examples({ examples }: Pick<CheckedCatalog, 'examples'>) {
  const text = useTexts(catalogTexts);
  if (examples.length === 0) return null;
  return (
    <Stack gap="xs">
      <div>
        <Title order={3} size="h5">
          {text.example}
        </Title>
        <DimmedText>{text.exampleLead}</DimmedText>
      </div>
      <DataTable
        label={text.example}
        items={examples}
        idOf={({ model }) => model}
        columns={[
          { header: text.model, cell: ({ model }) => model },
          { header: text.presently, isFigure: true, cell: ({ before }) => <Yuan amount={before} /> },
          { header: text.withIt, isFigure: true, cell: ({ now }) => <Yuan amount={now} /> },
          {
            header: text.margin,
            isFigure: true,
            cell: ({ marginPercentBefore: before, marginPercentNow: now }) =>
              now === null ? '–' : before === null || before === now ? `${now}%` : `${before}% → ${now}%`,
          },
          {
            header: text.later,
            isFigure: true,
            cell: ({ later }) =>
              later.length === 0
                ? '–'
                : later.map(({ from, yuan }) => (
                    <div key={from}>
                      {text.fromDay(from)}
                      {text.colon}
                      <Yuan amount={yuan} />
                    </div>
                  )),
          },
        ]}
      />
    </Stack>
  );
}
