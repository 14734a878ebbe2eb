import {
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  SimpleGrid,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import { entryOf, fieldsOf } from '../../parts/catalog/catalog-value.ts';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { listAt, type PriceList, priceLists } from '../../parts/catalog/price-lists.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';
import {
  type CopiedModel,
  emptyRoute,
  type ModelDraft,
  modelDraft,
  modelEdits,
  newModel,
  OPERATIONS,
  type RouteDraft,
} from './model-draft.ts';

interface ModelDialogProps extends Pick<DialogProps, 'onClose'> {
  readonly catalog: Catalog;
  readonly name: string;
}

/** Mounted while it is open. */
export function EditModelDialog({ name, catalog, onClose }: ModelDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const { zones } = useTimezone();
  const [{ list, draft: stored }] = useState(() => storedModel(catalog, name, zones.billing));
  const [draft, field] = useDraft(() => stored);
  return (
    <CatalogDialog
      isOpen
      onClose={onClose}
      title={text.editTitle(name)}
      catalog={catalog}
      problem={() => problemOf(draft, text)}
      edits={() => modelEdits(stored, draft, list)}
    >
      <ModelFields draft={draft} field={field} list={list} catalog={catalog} />
    </CatalogDialog>
  );
}

const NEW_LIST: PriceList = { path: [], from: null, fields: {} };

/** Mounted while it is open. A name is that of the model to copy; empty for none. */
export function NewModelDialog({ name: first, catalog, onClose }: ModelDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const { zones } = useTimezone();
  const [copied, setCopied] = useState<CopiedModel | null>(() => copyOf(first));
  const providers = Object.keys(catalog.value.providers);
  const [draft, field, set] = useDraft(() => newDraft(copied, providers));
  function copyOf(name: string): CopiedModel | null {
    if (name === '') return null;
    return {
      ...storedModel(catalog, name, zones.billing),
      fields: entryOf(catalog.state.text, 'models', name),
    };
  }
  const copy = (name: string): void => {
    const next = copyOf(name);
    setCopied(next);
    set({ ...newDraft(next, providers), name: draft.name });
  };
  const problem = (): string | null =>
    Object.hasOwn(catalog.value.models, draft.name) ? text.taken : problemOf(draft, text);
  return (
    <CatalogDialog
      isOpen
      onClose={onClose}
      title={text.add}
      catalog={catalog}
      problem={problem}
      edits={() => newModel(draft, copied)}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TextInput label={text.name} required {...field('name')} autoComplete="off" spellCheck={false} data-autofocus />
        <NativeSelect
          label={text.copyFrom}
          value={copied?.draft.name ?? ''}
          onChange={({ currentTarget }) => copy(currentTarget.value)}
          data={[{ value: '', label: text.nothingToCopy }, ...Object.keys(catalog.value.models)]}
        />
      </SimpleGrid>
      <ModelFields draft={draft} field={field} list={copied?.list ?? NEW_LIST} catalog={catalog} />
    </CatalogDialog>
  );
}

function storedModel({ value }: Catalog, name: string, timezone: string) {
  const fields = value.models[name] ?? {};
  const list = listAt(priceLists(fieldsOf(fields.price)), Date.now(), timezone);
  return { list, draft: modelDraft(name, fields, list) };
}

function newDraft(copied: CopiedModel | null, providers: readonly string[]): ModelDraft {
  if (copied === null) {
    const routes = [{ ...emptyRoute, provider: providers.length === 1 ? providers[0]! : '' }];
    return { ...modelDraft('', {}, NEW_LIST), operations: ['chat'], routes };
  }
  return { ...copied.draft, name: '', displayName: '', aliases: [] };
}

function problemOf({ operations, routes }: ModelDraft, text: (typeof catalogModelsTexts)['en']): string | null {
  if (operations.length === 0) return text.operationNeeded;
  return routes.length === 0 ? text.routeNeeded : null;
}

interface ModelFieldsProps {
  readonly draft: ModelDraft;
  readonly field: FieldOf<ModelDraft>;
  readonly list: PriceList;
  readonly catalog: Catalog;
}

function ModelFields({ draft, field, list, catalog }: ModelFieldsProps) {
  const text = useTexts(catalogModelsTexts);
  const operationName = useOperationName();
  const listed = field('isListed');
  return (
    <Stack>
      <Fieldset legend={text.names}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput label={text.displayName} {...field('displayName')} autoComplete="off" />
          <TagsInput
            label={text.aliases}
            description={text.aliasesHint}
            value={[...draft.aliases]}
            onChange={field('aliases').onChange}
            acceptValueOnBlur
          />
          <TextInput label={text.manufacturer} {...field('manufacturer')} autoComplete="off" />
          <TextInput label={text.description} {...field('description')} autoComplete="off" />
          <TextInput
            label={text.contextLength}
            description={text.contextHint}
            {...field('contextLength')}
            autoComplete="off"
          />
          <TextInput
            label={text.maxOutputTokens}
            description={text.outputHint}
            {...field('maxOutputTokens')}
            autoComplete="off"
          />
        </SimpleGrid>
      </Fieldset>
      <MultiSelect
        label={text.operations}
        withAsterisk
        data={[...new Set([...OPERATIONS, ...draft.operations])].map((value) => ({
          value,
          label: operationName(value),
        }))}
        value={[...draft.operations]}
        onChange={field('operations').onChange}
        hidePickedOptions
      />
      <Checkbox
        label={text.isListed}
        checked={listed.value}
        onChange={({ currentTarget }) => listed.onChange(currentTarget.checked)}
      />
      <Fieldset legend={list.from === null ? text.firstPrice : `${text.priceInForce} · ${text.from(list.from)}`}>
        <PriceFields prices={draft.prices} onChange={field('prices').onChange} fields={list.fields} />
      </Fieldset>
      <Routes
        routes={draft.routes}
        onChange={field('routes').onChange}
        providers={Object.keys(catalog.value.providers)}
        modelName={draft.name}
      />
    </Stack>
  );
}

interface RoutesProps {
  readonly routes: readonly RouteDraft[];
  readonly onChange: (routes: readonly RouteDraft[]) => void;
  readonly providers: readonly string[];
  readonly modelName: string;
}

function Routes({ routes, onChange, providers, modelName }: RoutesProps) {
  const text = useTexts(catalogModelsTexts);
  return (
    <Fieldset legend={text.routes}>
      <Stack gap="md">
        {routes.map((route, at) => {
          const change = (changed: Partial<RouteDraft>) =>
            onChange(routes.map((each, index) => (index === at ? { ...each, ...changed } : each)));
          const number = String(at + 1);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: routes have no names
            <Group key={at} gap="xs" align="flex-end" role="group" aria-label={text.routeOf(number)}>
              <NativeSelect
                label={text.provider}
                required
                value={route.provider}
                onChange={({ currentTarget }) => change({ provider: currentTarget.value })}
                data={['', ...new Set([...providers, ...(route.provider === '' ? [] : [route.provider])])]}
                style={{ flex: '1 1 130px' }}
              />
              <TextInput
                label={text.providerModel}
                required
                placeholder={modelName}
                value={route.model}
                onChange={({ currentTarget }) => change({ model: currentTarget.value.trim() })}
                autoComplete="off"
                spellCheck={false}
                style={{ flex: '2 1 180px' }}
              />
              <TextInput
                label={text.priority}
                title={text.priorityHint}
                placeholder="0"
                value={route.priority}
                onChange={({ currentTarget }) => change({ priority: currentTarget.value.trim() })}
                inputMode="numeric"
                autoComplete="off"
                style={{ flex: '0 1 80px' }}
              />
              <TextInput
                label={text.weight}
                title={text.weightHint}
                placeholder="1"
                value={route.weight}
                onChange={({ currentTarget }) => change({ weight: currentTarget.value.trim() })}
                inputMode="numeric"
                autoComplete="off"
                style={{ flex: '0 1 80px' }}
              />
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={text.removeRoute(number)}
                onClick={() => onChange(routes.filter((_, index) => index !== at))}
              >
                <XIcon />
              </ActionIcon>
            </Group>
          );
        })}
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<PlusIcon />}
          onClick={() =>
            onChange([...routes, { ...emptyRoute, provider: providers.length === 1 ? providers[0]! : '' }])
          }
          style={{ alignSelf: 'flex-start' }}
        >
          {text.addRoute}
        </Button>
      </Stack>
    </Fieldset>
  );
}
