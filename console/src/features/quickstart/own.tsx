import { Alert, Anchor, Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { OwnModel } from '../../api/types.ts';
import { CallChoice, offeredModels } from '../../parts/calling/call-choice.tsx';
import { KeyField } from '../../parts/calling/key-field.tsx';
import { useMessagesName } from '../../parts/calling/messages-name.ts';
import { SYSTEMS, type System } from '../../parts/calling/post.ts';
import { KEY_PLACEHOLDER, useTrialKey } from '../../parts/calling/trial-key.ts';
import { CodeBlock, CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText, SmallText } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { CLIENTS } from './settings.ts';
import { quickstartTexts } from './texts.ts';
import { TryIt } from './try-it.tsx';
import type { Client, Operation, Setting, Wanted } from './wanted.ts';

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
  const { trialKey, key, setKey } = useTrialKey();
  const system = SYSTEMS.find((each) => each === query.system) ?? ownSystem();
  const messagesName = useMessagesName();
  const offered = offeredModels(models, CALLED, context);
  const model = offered.find(({ id }) => id === query.model) ?? offered[0];
  if (model === undefined && context === 'balance')
    return <EmptyState title={text.noModels} hint={text.noModelsHint} />;
  const wanted: Wanted = {
    origin: window.location.origin,
    context,
    model: model?.id ?? '',
    key: key === '' ? KEY_PLACEHOLDER : key,
    system,
    messagesName,
    contextTokens: model?.contextTokens ?? null,
    outputTokens: model?.outputTokens ?? null,
  };
  const operation = (['chat', 'messages'] as const).find((each) => model?.operations.includes(each));
  return (
    <>
      <Group align="flex-end" gap="md">
        <CallChoice
          hasPlan={hasPlan}
          context={context}
          onContext={(chosen) => change({ context: chosen === 'coding' ? chosen : null })}
          offered={offered}
          modelId={model?.id ?? null}
          onModel={(chosen) => change({ model: chosen })}
        />
        <KeyField value={key} onChange={setKey} />
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
      {client.settings(isWithoutKey ? { ...wanted, key: KEY_PLACEHOLDER } : wanted).map((setting) => (
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
