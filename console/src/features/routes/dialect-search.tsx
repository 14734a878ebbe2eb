import { NativeSelect, Stack, Text } from '@mantine/core';
import type { DialectSearch } from '../../api/types.ts';
import { CopyText } from '../../parts/copy.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { TestOutcome } from './test-outcome.tsx';
import { routesTexts } from './texts.ts';

interface DialectSearchProps {
  readonly provider: string;
  readonly models: readonly string[];
}

/** Finds how a provider takes translated requests, and shows the dialect for the configuration. */
export function DialectSearchButton({ provider, models }: DialectSearchProps) {
  const text = useTexts(routesTexts);
  const [open, dialog] = useDialog();
  const [{ model }, field] = useDraft(() => ({ model: '' }), dialog.isOpen);
  return (
    <>
      <SmallButton onClick={open} aria-label={text.findDialectOf(provider)}>
        {text.findDialect}
      </SmallButton>
      <ChangeDialog
        endpoint="POST /admin/v1/providers/{id}/dialect"
        title={text.findDialectOf(provider)}
        submitLabel={text.findDialectRun}
        size="lg"
        {...dialog}
        input={() => ({ path: { id: provider }, body: { model: model || undefined } })}
        result={(search) => <FoundDialect search={search} />}
      >
        <Text size="sm">{text.findDialectHint}</Text>
        <NativeSelect label={text.model} {...field('model')} data={[{ value: '', label: text.anyModel }, ...models]} />
      </ChangeDialog>
    </>
  );
}

function FoundDialect({ search: { trials, yaml } }: { readonly search: DialectSearch }) {
  const text = useTexts(routesTexts);
  const format = useFormat();
  // One name can be tried twice, so that the place is the id.
  const items = trials.map((trial, at) => ({ ...trial, id: String(at) }));
  return (
    <Stack gap="xs" role="status">
      <DataTable
        label={text.result}
        items={items}
        idOf={({ id }) => id}
        columns={[
          { header: text.tried, cell: ({ tried }) => tried },
          { header: text.result, cell: (result) => <TestOutcome result={result} failedColor="gray" /> },
          { header: text.duration, isFigure: true, cell: ({ durationMs }) => format.duration(durationMs) },
        ]}
      />
      <Text size="sm">
        {yaml === null ? text.dialectNotFound : yaml === '' ? text.dialectNotNeeded : text.dialectFound}
      </Text>
      {yaml !== null && yaml !== '' && <CopyText value={yaml} />}
    </Stack>
  );
}
