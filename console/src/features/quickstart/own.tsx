import { Button, Group, PasswordInput, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useChange, useRead } from '../../api/queries.ts';
import type { OwnModel } from '../../api/types.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { useNowMs } from '../../parts/figures.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useMessagesName } from './messages-name.ts';
import { CLIENTS, type Client, type Operation, type Wanted } from './settings.ts';
import { quickstartTexts } from './texts.ts';
import { TryIt } from './try-it.tsx';

const PLACEHOLDER = 'sk-fg-…';
const TRY_BUDGET_YUAN = '1';
const HOUR_MS = 3_600_000;
const CALLED: readonly string[] = ['chat', 'responses', 'messages'] satisfies readonly Operation[];

/** Settings to paste into clients, and a first call from here. */
export function QuickstartPage() {
  const text = useTexts(quickstartTexts);
  const models = useRead('GET /account/v1/models', {});
  const plan = useRead('GET /account/v1/plan', {}).data;
  return (
    <Page title={text.title} lead={text.lead}>
      <ErrorNotice error={models.error} onRetry={() => void models.refetch()} />
      {models.isPending && <Loading />}
      {models.data !== undefined && <Quickstart models={models.data.data} hasPlan={plan?.isUsable === true} />}
    </Page>
  );
}

function Quickstart({ models, hasPlan }: { readonly models: readonly OwnModel[]; readonly hasPlan: boolean }) {
  const text = useTexts(quickstartTexts);
  const [context, setContext] = useState<Wanted['context']>('balance');
  const [chosen, setChosen] = useState<string | null>(null);
  const [key, setKey] = useState('');
  const messagesName = useMessagesName();
  const offered = models.filter(
    ({ operations, isInPlan }) =>
      operations.some((each) => CALLED.includes(each)) && (context === 'balance' || isInPlan),
  );
  const model = offered.find(({ id }) => id === chosen) ?? offered[0];
  if (model === undefined && context === 'balance')
    return <EmptyState title={text.noModels} hint={text.noModelsHint} />;
  const wanted: Wanted = {
    origin: window.location.origin,
    context,
    model: model?.id ?? '',
    key: key === '' ? PLACEHOLDER : key,
    messagesName,
    contextTokens: model?.contextTokens ?? null,
    outputTokens: model?.outputTokens ?? null,
  };
  const operation = (['chat', 'messages'] as const).find((each) => model?.operations.includes(each));
  return (
    <>
      <Group align="flex-end" gap="md">
        {hasPlan && (
          <SegmentedControl
            aria-label={text.paidBy}
            value={context}
            onChange={(value) => setContext(value as Wanted['context'])}
            data={[
              { value: 'balance', label: text.balance },
              { value: 'coding', label: text.coding },
            ]}
          />
        )}
        <Select
          label={text.model}
          data={offered.map(({ id }) => id)}
          value={model?.id ?? null}
          onChange={setChosen}
          allowDeselect={false}
          w={220}
        />
        <KeyField value={key} onChange={setKey} />
      </Group>
      {model !== undefined && (
        <Section title={text.settings}>
          <Settings wanted={wanted} operations={model.operations} />
        </Section>
      )}
      {operation !== undefined && (
        <Section title={text.tryIt} lead={text.tryItLead}>
          <TryIt wanted={wanted} apiKey={key === '' ? null : key} operation={operation} />
        </Section>
      )}
    </>
  );
}

interface KeyFieldProps {
  readonly value: string;
  readonly onChange: (key: string) => void;
}

/** A key that is pasted, or one that is made for an hour. */
function KeyField({ value, onChange }: KeyFieldProps) {
  const text = useTexts(quickstartTexts);
  const format = useFormat();
  const nowMs = useNowMs();
  const create = useChange('POST /account/v1/keys');
  const make = async (): Promise<void> => {
    const body = {
      name: text.keyName,
      scopes: ['calls'] as const,
      expiresAt: new Date(nowMs + HOUR_MS).toISOString(),
      // Of the balance, should it be used there.
      totalSpendCapYuan: TRY_BUDGET_YUAN,
    };
    const made = await create.mutateAsync({ body }).catch(() => null);
    if (made !== null) onChange(made.key);
  };
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={text.key}
          description={create.isSuccess && create.data.key === value ? text.madeKey : text.keyHint}
          placeholder={PLACEHOLDER}
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
          w={300}
        />
        <Button
          variant="default"
          onClick={() => void make()}
          loading={create.isPending}
          title={text.makeKeyHint(format.yuan(TRY_BUDGET_YUAN))}
        >
          {text.makeKey}
        </Button>
      </Group>
      <ErrorNotice error={create.error} />
    </Stack>
  );
}

function Settings({ wanted, operations }: { readonly wanted: Wanted; readonly operations: readonly string[] }) {
  const text = useTexts(quickstartTexts);
  const isServed = ({ operation }: Client): boolean => operations.includes(operation);
  const clients = CLIENTS.filter(isServed);
  const [chosen, setChosen] = useState<string | null>(null);
  const client = clients.find(({ name }) => name === chosen) ?? clients[0];
  if (client === undefined) return <Text c="dimmed">{text.noClient}</Text>;
  return (
    <Stack gap="sm">
      <Select
        label={text.client}
        data={CLIENTS.map((each) => ({
          value: each.name,
          label: isServed(each) ? each.name : text.notWithThisModel(each.name),
          disabled: !isServed(each),
        }))}
        value={client.name}
        onChange={setChosen}
        allowDeselect={false}
        maw={320}
      />
      {client.settings(wanted).map(({ file, code }) => (
        <div key={code}>
          <Text size="sm" c="dimmed" mb={4}>
            {file === null ? text.run : text.putInto(file)}
          </Text>
          <CodeBlock code={code} label={file ?? client.name} />
        </div>
      ))}
    </Stack>
  );
}
