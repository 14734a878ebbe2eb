import { Alert, Anchor, Button, Group, PasswordInput, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useChange, useRead } from '../../api/queries.ts';
import type { OwnModel } from '../../api/types.ts';
import { CodeBlock, CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { useNowMs } from '../../parts/figures.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ErrorNotice, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText, SmallText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useMessagesName } from './messages-name.ts';
import { CLIENTS } from './settings.ts';
import { quickstartTexts } from './texts.ts';
import { TryIt } from './try-it.tsx';
import { type Client, type Operation, type Setting, SYSTEMS, type System, type Wanted } from './wanted.ts';

const PLACEHOLDER = 'sk-fg-…';
const TRY_BUDGET_YUAN = '1';
const HOUR_MS = 3_600_000;
const CALLED: readonly string[] = ['chat', 'responses', 'messages'] satisfies readonly Operation[];

export function QuickstartPage() {
  const text = useTexts(quickstartTexts);
  const models = useRead('GET /account/v1/models', {});
  const plan = useRead('GET /account/v1/plan', {}).data;
  return (
    <Page lead={text.lead}>
      <ReadState read={models} />
      {models.data !== undefined && <Quickstart models={models.data.data} hasPlan={plan?.isUsable === true} />}
    </Page>
  );
}

function Quickstart({ models, hasPlan }: { readonly models: readonly OwnModel[]; readonly hasPlan: boolean }) {
  const text = useTexts(quickstartTexts);
  const [query, change] = usePlaceQuery();
  const context: Wanted['context'] = hasPlan && query.context === 'coding' ? 'coding' : 'balance';
  const [key, setKey] = useState('');
  /** The one-hour key that was created on this page, if any. */
  const [trialKey, setTrialKey] = useState<string | null>(null);
  const system = SYSTEMS.find((each) => each === query.system) ?? ownSystem();
  const messagesName = useMessagesName();
  const offered = models.filter(
    ({ operations, isInPlan }) =>
      operations.some((each) => CALLED.includes(each)) && (context === 'balance' || isInPlan),
  );
  const model = offered.find(({ id }) => id === query.model) ?? offered[0];
  if (model === undefined && context === 'balance')
    return <EmptyState title={text.noModels} hint={text.noModelsHint} />;
  const wanted: Wanted = {
    origin: window.location.origin,
    context,
    model: model?.id ?? '',
    key: key === '' ? PLACEHOLDER : key,
    system,
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
            onChange={(value) => change({ context: value === 'coding' ? value : null })}
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
          onChange={(chosen) => change({ model: chosen })}
          allowDeselect={false}
          w={220}
        />
        <KeyField value={key} onChange={setKey} trialKey={trialKey} onMade={setTrialKey} />
      </Group>
      {model !== undefined && (
        <Section title={text.settings}>
          <Settings
            wanted={wanted}
            operations={model.operations}
            isTrial={key !== '' && key === trialKey}
            onSystem={(chosen) => change({ system: chosen })}
          />
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

const ownSystem = (): System => (/Windows/.test(navigator.userAgent) ? 'powershell' : 'unix');

interface KeyFieldProps {
  readonly value: string;
  readonly onChange: (key: string) => void;
  readonly trialKey: string | null;
  readonly onMade: (key: string) => void;
}

/** Accepts a pasted key or creates one that expires in an hour. */
function KeyField({ value, onChange, trialKey, onMade }: KeyFieldProps) {
  const text = useTexts(quickstartTexts);
  const format = useFormat();
  const nowMs = useNowMs();
  const create = useChange('POST /account/v1/keys');
  const make = async (): Promise<void> => {
    const body = {
      name: text.keyName,
      scopes: ['calls'] as const,
      expiresAt: new Date(nowMs + HOUR_MS).toISOString(),
      // Limits the spend if the key is used with the balance.
      totalSpendCapYuan: TRY_BUDGET_YUAN,
    };
    const made = await create.mutateAsync({ body }).catch(() => null);
    if (made === null) return;
    onMade(made.key);
    onChange(made.key);
  };
  return (
    <Stack gap={4}>
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={text.key}
          description={value !== '' && value === trialKey ? text.madeKey : text.keyHint}
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

interface SettingsProps {
  readonly wanted: Wanted;
  readonly operations: readonly string[];
  /** Whether the key expires in an hour. */
  readonly isTrial: boolean;
  readonly onSystem: (system: System) => void;
}

function Settings({ wanted, operations, isTrial, onSystem }: SettingsProps) {
  const text = useTexts(quickstartTexts);
  const isServed = ({ operation }: Client): boolean => operations.includes(operation);
  const clients = CLIENTS.filter(isServed);
  const [query, change] = usePlaceQuery();
  const client = clients.find(({ name }) => name === query.client) ?? clients[0];
  if (client === undefined) return <Text c="dimmed">{text.noClient}</Text>;
  const isWithoutKey = isTrial && client.isLasting;
  const { checked } = client;
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="md">
        <Select
          label={text.client}
          data={CLIENTS.map((each) => ({
            value: each.name,
            label: isServed(each) ? each.name : text.notWithThisModel(each.name),
            disabled: !isServed(each),
          }))}
          value={client.name}
          onChange={(chosen) => change({ client: chosen })}
          allowDeselect={false}
          w={320}
        />
        <SegmentedControl
          aria-label={text.system}
          value={wanted.system}
          onChange={(system) => onSystem(system as System)}
          data={SYSTEMS.map((system) => ({ value: system, label: text.systems[system] }))}
        />
      </Group>
      {isWithoutKey && (
        <Alert color="yellow">
          {text.trialEnds} <Anchor href="#/keys">{text.apiKeys}</Anchor>
        </Alert>
      )}
      {client.settings(isWithoutKey ? { ...wanted, key: PLACEHOLDER } : wanted).map((setting) => (
        <SettingView key={JSON.stringify(setting)} setting={setting} client={client.name} />
      ))}
      {checked !== null && <SmallText>{text.checked(checked.on, checked.against)}</SmallText>}
    </Stack>
  );
}

function SettingView({ setting, client }: { readonly setting: Setting; readonly client: string }) {
  const text = useTexts(quickstartTexts);
  if ('form' in setting) {
    return (
      <div>
        <DimmedText mb={4}>{text.enterInto(client, setting.form)}</DimmedText>
        <Facts facts={setting.fields.map(([label, value]) => [label, <CopyText key={label} value={value} />])} />
      </div>
    );
  }
  const { file, code } = setting;
  return (
    <div>
      <DimmedText mb={4}>{file === null ? text.run : text.putInto(file)}</DimmedText>
      <CodeBlock code={code} label={file ?? client} />
    </div>
  );
}
