import { Code } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

/** Usage that was not charged because it has no price, if there is any. */
export function UnpricedUses() {
  const text = useTexts(routesTexts);
  const format = useFormat();
  const { data, error } = useRead('GET /admin/v1/unpriced', {});
  if (error !== null) return <ErrorNotice error={error} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title={text.unpriced} lead={text.unpricedLead}>
      <DataTable
        label={text.unpriced}
        items={data.data}
        idOf={({ model, price }) => `${model} ${price}`}
        columns={[
          { header: text.model, cell: ({ model }) => model },
          { header: text.price, cell: ({ price }) => <Code>{price}</Code> },
          { header: text.calls, isFigure: true, cell: ({ calls }) => format.count(calls) },
          { header: text.lastAt, cell: ({ lastAt }) => <Instant at={lastAt} isRelative /> },
        ]}
      />
    </Section>
  );
}
