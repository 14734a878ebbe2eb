import { ActionIcon, Button, Fieldset, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import { type Fields, fieldsOf, textOf } from '../../parts/catalog/catalog-value.ts';
import { TranslationFields } from '../../parts/catalog/dialect-fields.tsx';
import { numberOrText } from '../../parts/catalog/edits.ts';
import { LimitFields } from '../../parts/catalog/limit-fields.tsx';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { GROUP_TABLES } from '../../parts/catalog/price-keys.ts';
import { FoldedFields, ParameterFields, ShowModelField } from '../../parts/catalog/request-fields.tsx';
import { requestTexts } from '../../parts/catalog/request-texts.ts';
import { SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';
import { newRoute } from './model-entry.ts';

interface RouteFieldsProps {
  readonly routes: readonly Fields[];
  readonly onChange: (routes: readonly Fields[]) => void;
  /** Providers of the catalog, with their settings. */
  readonly providers: Readonly<Record<string, Fields>>;
  readonly modelName: string;
}

export function RouteFields({ routes, onChange, providers, modelName }: RouteFieldsProps) {
  const text = useTexts(catalogModelsTexts);
  const { foldOf } = useTexts(requestTexts);
  const names = Object.keys(providers);
  return (
    <Fieldset legend={text.routes}>
      <Stack gap="md">
        {routes.map((route, at) => {
          const provider = textOf(route.provider);
          const change = (changed: Fields) => onChange(routes.with(at, { ...route, ...changed }));
          const number = String(at + 1);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: routes have no names
            <Group key={at} gap="xs" align="flex-end" role="group" aria-label={text.routeOf(number)}>
              <NativeSelect
                label={text.provider}
                required
                value={provider}
                onChange={({ currentTarget }) => change({ provider: currentTarget.value })}
                data={['', ...new Set([...names, ...(provider === '' ? [] : [provider])])]}
                style={{ flex: '1 1 130px' }}
              />
              <TextInput
                label={text.providerModel}
                required
                placeholder={modelName}
                value={textOf(route.model)}
                onChange={({ currentTarget }) => change({ model: currentTarget.value.trim() })}
                autoComplete="off"
                spellCheck={false}
                style={{ flex: '2 1 180px' }}
              />
              {(['priority', 'weight'] as const).map((member) => (
                <TextInput
                  key={member}
                  label={text[member]}
                  title={member === 'priority' ? text.priorityHint : text.weightHint}
                  placeholder={member === 'priority' ? '0' : '1'}
                  value={textOf(route[member])}
                  onChange={({ currentTarget }) => change({ [member]: numberOrText(currentTarget.value.trim()) })}
                  inputMode="numeric"
                  autoComplete="off"
                  style={{ flex: '0 1 80px' }}
                />
              ))}
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={text.removeRoute(number)}
                onClick={() => onChange(routes.toSpliced(at, 1))}
              >
                <XIcon />
              </ActionIcon>
              <RouteCost number={number} cost={route.cost} onChange={(cost) => change({ cost })} />
              <FoldedFields label={foldOf(number)}>
                <Stack gap="sm">
                  <ParameterFields value={route.parameters} onChange={(parameters) => change({ parameters })} />
                  <ShowModelField value={route.showModel} onChange={(showModel) => change({ showModel })} />
                  <LimitFields
                    entry={{ value: route, replace: (value) => onChange(routes.with(at, value)) }}
                    of="route"
                  />
                </Stack>
              </FoldedFields>
              <Stack gap="xs" style={{ flex: '1 1 100%' }}>
                <TranslationFields
                  entry={{ value: route, replace: (value) => onChange(routes.with(at, value)) }}
                  of="route"
                  protocol={textOf(providers[provider]?.protocol)}
                />
              </Stack>
            </Group>
          );
        })}
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<PlusIcon />}
          onClick={() => onChange([...routes, newRoute(names)])}
          style={{ alignSelf: 'flex-start' }}
        >
          {text.addRoute}
        </Button>
      </Stack>
    </Fieldset>
  );
}

interface RouteCostProps {
  readonly number: string;
  readonly cost: unknown;
  readonly onChange: (cost: Fields | undefined) => void;
}

/** What calls over a route cost the operator, for the margin. */
function RouteCost({ number, cost, onChange }: RouteCostProps) {
  const text = useTexts(catalogModelsTexts);
  if (cost === undefined)
    return (
      <SmallButton onClick={() => onChange({})} aria-label={text.addCostOf(number)}>
        {text.addCost}
      </SmallButton>
    );
  return (
    <Fieldset legend={text.costOf(number)} style={{ flex: '1 1 100%' }}>
      <PriceFields list={fieldsOf(cost)} onChange={onChange} tables={GROUP_TABLES} />
      <Group justify="flex-end" mt="xs">
        <SmallButton onClick={() => onChange(undefined)} aria-label={text.removeCostOf(number)}>
          {text.remove}
        </SmallButton>
      </Group>
    </Fieldset>
  );
}
