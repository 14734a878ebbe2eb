import { useRead } from '../../api/queries.ts';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { ReadState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { settingsTexts } from './own-texts.ts';

export function RateLimits() {
  const text = useTexts(settingsTexts);
  const { limits } = useTexts(limitsTexts);
  const format = useFormat();
  const read = useRead('GET /account/v1/limits', {});
  const count = (limit: number | null) => (limit === null ? text.noLimit : format.count(limit));
  const rows =
    read.data === undefined
      ? []
      : [
          { model: null, ...read.data },
          ...Object.entries(read.data.modelLimits).map(([model, own]) => ({ model, ...own })),
        ];
  return (
    <Section title={text.rates} lead={text.ratesLead}>
      <ReadState read={read} />
      {rows.length > 0 && (
        <DataTable
          label={text.rates}
          items={rows}
          idOf={({ model }) => model ?? ''}
          columns={[
            { header: text.scope, cell: ({ model }) => model ?? text.allModels },
            {
              header: limits.requestsPerMinute,
              isFigure: true,
              cell: ({ requestsPerMinute }) => count(requestsPerMinute),
            },
            { header: limits.tokensPerMinute, isFigure: true, cell: ({ tokensPerMinute }) => count(tokensPerMinute) },
          ]}
        />
      )}
    </Section>
  );
}
