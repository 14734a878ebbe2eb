import { Badge, Button, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import type { ProviderTest } from '../../api/types.ts';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

interface ProviderTestButtonProps {
  readonly provider: string;
  readonly models: readonly string[];
}

/** Calls a provider with each of its credentials, and shows what came back. */
export function ProviderTestButton({ provider, models }: ProviderTestButtonProps) {
  const text = useTexts(routesTexts);
  const test = useChange('POST /admin/v1/providers/{id}/test');
  const [isOpen, setIsOpen] = useState(false);
  const [model, setModel] = useState('');
  const open = (): void => {
    test.reset();
    setModel('');
    setIsOpen(true);
  };
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} aria-label={text.testTitle(provider)}>
        {text.test}
      </Button>
      <FormDialog
        title={text.testTitle(provider)}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={text.testRun}
        onSubmit={() => test.mutate({ path: { id: provider }, body: { model: model || undefined } })}
        isBusy={test.isPending}
        error={test.error}
        size="lg"
      >
        <Text size="sm">{text.testHint}</Text>
        <NativeSelect
          label={text.testModel}
          value={model}
          onChange={({ currentTarget }) => setModel(currentTarget.value)}
          data={[{ value: '', label: text.anyModel }, ...models]}
        />
        {test.data !== undefined && <TestResult test={test.data} />}
      </FormDialog>
    </>
  );
}

function TestResult({ test }: { readonly test: ProviderTest }) {
  const text = useTexts(routesTexts);
  const format = useFormat();
  return (
    <Stack gap="xs" role="status">
      <Facts
        facts={[
          [text.testedWith, test.providerModel],
          [text.operation, test.operation],
        ]}
      />
      <DataTable
        label={text.result}
        items={test.results}
        idOf={({ credential }) => credential}
        columns={[
          { header: text.credential, cell: ({ credential }) => credential },
          {
            header: text.result,
            cell: ({ status, httpStatus, message }) => (
              <>
                <Badge variant="light" autoContrast color={status === 'succeeded' ? 'teal' : 'red'}>
                  {[text[status], httpStatus].filter((part) => part !== null).join(' ')}
                </Badge>
                {message !== null && <Text size="sm">{message}</Text>}
              </>
            ),
          },
          { header: text.duration, isFigure: true, cell: ({ durationMs }) => format.duration(durationMs) },
          { header: text.atListPrice, isFigure: true, cell: ({ chargeYuan }) => <Yuan amount={chargeYuan} isShort /> },
        ]}
      />
    </Stack>
  );
}
