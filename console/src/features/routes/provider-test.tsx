import { NativeSelect, Stack, Text } from '@mantine/core';
import type { ProviderTest } from '../../api/types.ts';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { type DialogProps, useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { TestOutcome } from './test-outcome.tsx';
import { routesTexts } from './texts.ts';

interface ProviderTestProps {
  readonly provider: string;
  readonly models: readonly string[];
}

export function ProviderTestButton(props: ProviderTestProps) {
  const text = useTexts(routesTexts);
  const [open, dialog] = useDialog();
  return (
    <>
      <SmallButton onClick={open} aria-label={text.testTitle(props.provider)}>
        {text.test}
      </SmallButton>
      <ProviderTestDialog {...props} {...dialog} />
    </>
  );
}

/** Calls a provider with each of its credentials and shows the results. */
export function ProviderTestDialog({ provider, models, ...dialog }: ProviderTestProps & DialogProps) {
  const text = useTexts(routesTexts);
  const [{ model }, field] = useDraft(() => ({ model: '' }), dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/providers/{id}/test"
      title={text.testTitle(provider)}
      submitLabel={text.testRun}
      size="lg"
      {...dialog}
      input={() => ({ path: { id: provider }, body: { model: model || undefined } })}
      result={(test) => <TestResult test={test} />}
    >
      <Text size="sm">{text.testHint}</Text>
      <NativeSelect label={text.model} {...field('model')} data={[{ value: '', label: text.anyModel }, ...models]} />
    </ChangeDialog>
  );
}

function TestResult({ test }: { readonly test: ProviderTest }) {
  const text = useTexts(routesTexts);
  const format = useFormat();
  const operationName = useOperationName();
  return (
    <Stack gap="xs" role="status">
      <Facts
        facts={[
          [text.testedWith, test.providerModel],
          [text.operation, operationName(test.operation)],
        ]}
      />
      <DataTable
        label={text.result}
        items={test.results}
        idOf={({ credential }) => credential}
        columns={[
          { header: text.credential, cell: ({ credential }) => credential },
          { header: text.result, cell: (result) => <TestOutcome result={result} failedColor="red" /> },
          { header: text.duration, isFigure: true, cell: ({ durationMs }) => format.duration(durationMs) },
          { header: text.atListPrice, isFigure: true, cell: ({ chargeYuan }) => <Yuan amount={chargeYuan} isShort /> },
        ]}
      />
    </Stack>
  );
}
