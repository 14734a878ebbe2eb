import { Group, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { useTexts } from '../../text/language.tsx';
import { Yuan } from '../figures.tsx';
import { DimmedText } from '../small.ts';
import { catalogTexts } from './texts.ts';
import type { Catalog } from './use-catalog.ts';
import type { Entry } from './use-entry.ts';

const TYPING_MS = 400;

interface ExampleCostProps {
  readonly catalog: Catalog;
  readonly entry: Pick<Entry, 'name' | 'edits'>;
}

/** What a call would cost with the prices in a form, now and after each later start. The gateway calculates it, while they are typed. */
export function ExampleCost({ catalog: { state }, entry }: ExampleCostProps) {
  const text = useTexts(catalogTexts);
  const [draft] = useDebouncedValue(JSON.stringify({ model: entry.name, edits: entry.edits() }), TYPING_MS);
  const { data } = useQuery({
    queryKey: ['example cost', state.base, draft],
    queryFn: ({ signal }) => {
      const { model, edits } = JSON.parse(draft);
      const body = { base: state.base, edits, exampleModels: [model] };
      return ask('POST /admin/v1/catalog/check', { body }, { signal });
    },
    enabled: entry.name !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });
  const example = data?.examples.find(({ model }) => model === entry.name);
  return (
    <div role="status">
      <DimmedText>{text.exampleLead}</DimmedText>
      {example === undefined ? (
        <DimmedText>{text.noExample}</DimmedText>
      ) : (
        <Group gap="md">
          {example.before !== null && example.before !== example.now && (
            <Text size="sm">
              {text.presently}
              {text.colon}
              <Yuan amount={example.before} />
            </Text>
          )}
          <Text size="sm">
            {example.before === example.now ? text.presently : text.withIt}
            {text.colon}
            <Yuan amount={example.now} />
          </Text>
          {example.later.map(({ from, yuan }) => (
            <Text key={from} size="sm">
              {text.fromDay(from)}
              {text.colon}
              <Yuan amount={yuan} />
            </Text>
          ))}
        </Group>
      )}
    </div>
  );
}
