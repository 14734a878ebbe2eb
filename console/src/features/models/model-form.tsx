import { Checkbox, Fieldset, NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useState } from 'react';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { fieldsOf, listOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import { withValueAt } from '../../parts/catalog/edits.ts';
import { EntryDialog, type EntryDialogProps, EntryName } from '../../parts/catalog/entry-dialog.tsx';
import { ExampleCost } from '../../parts/catalog/example-cost.tsx';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { MODEL_TABLES } from '../../parts/catalog/price-keys.ts';
import { ShowModelField } from '../../parts/catalog/request-fields.tsx';
import { SettingFields } from '../../parts/catalog/setting-fields.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { type Entry, useEntry } from '../../parts/catalog/use-entry.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { AttemptFields } from './attempt-fields.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';
import { copyOfModel, listIn, newModel, OPERATIONS, priceListAt } from './model-entry.ts';
import { RouteFields } from './route-fields.tsx';

interface ModelDialogProps extends EntryDialogProps {
  readonly name: string;
}

/** Mounted while it is open. */
export function EditModelDialog({ name, ...dialog }: ModelDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const entry = useEntry(dialog.catalog, 'models', name);
  return (
    <EntryDialog {...dialog} entry={entry} title={text.editTitle(name)} problem={() => problemOf(entry, text)}>
      <ModelFields entry={entry} catalog={dialog.catalog} />
    </EntryDialog>
  );
}

/** Mounted while it is open. A name is that of the model to copy; empty for none. */
export function NewModelDialog({ name: first, ...dialog }: ModelDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const { catalog } = dialog;
  const [copied, setCopied] = useState(first);
  const startOf = (name: string) =>
    name === '' ? newModel(Object.keys(catalog.value.providers)) : copyOfModel(catalog.state.text, name);
  const entry = useEntry(catalog, 'models', null, startOf(first));
  const copy = (name: string): void => {
    setCopied(name);
    entry.replace(startOf(name));
  };
  return (
    <EntryDialog {...dialog} entry={entry} title={text.add} problem={() => problemOf(entry, text)}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
        <EntryName entry={entry} label={text.name} />
        <NativeSelect
          label={text.copyFrom}
          value={copied}
          onChange={({ currentTarget }) => copy(currentTarget.value)}
          data={[{ value: '', label: text.nothingToCopy }, ...Object.keys(catalog.value.models)]}
        />
      </SimpleGrid>
      {/* Mounted again, because a copy replaces all values. */}
      <ModelFields key={copied} entry={entry} catalog={catalog} />
    </EntryDialog>
  );
}

function problemOf({ value }: Entry, text: (typeof catalogModelsTexts)['en']): string | null {
  if (textsOf(value.operations).length === 0) return text.operationNeeded;
  return listOf(value.routes).length === 0 ? text.routeNeeded : null;
}

interface ModelFieldsProps {
  readonly entry: Entry;
  readonly catalog: Catalog;
}

function ModelFields({ entry, catalog }: ModelFieldsProps) {
  const text = useTexts(catalogModelsTexts);
  const operationName = useOperationName();
  const { zones } = useTimezone();
  // While the form is open, another list must not take its place.
  const [list] = useState(() => priceListAt(entry.value, Date.now(), zones.billing));
  return (
    <Stack>
      <Fieldset legend={text.names}>
        <SettingFields
          entry={entry}
          fields={[
            { setting: 'displayName', label: text.displayName },
            { setting: 'aliases', label: text.aliases, description: text.aliasesHint, kind: 'names' },
            { setting: 'manufacturer', label: text.manufacturer },
            { setting: 'description', label: text.description },
            { setting: 'contextLength', label: text.contextLength, description: text.contextHint },
            { setting: 'maxOutputTokens', label: text.maxOutputTokens, description: text.outputHint },
          ]}
        />
      </Fieldset>
      <SettingFields
        entry={entry}
        columns={1}
        fields={[
          {
            setting: 'operations',
            label: text.operations,
            kind: 'names',
            options: OPERATIONS.map((value) => ({ value, label: operationName(value) })),
            isRequired: true,
          },
        ]}
      />
      <ShowModelField value={entry.value.showModel} onChange={(showModel) => entry.change({ showModel })} />
      <Checkbox
        label={text.isListed}
        checked={textOf(entry.value.listed) !== 'false'}
        onChange={({ currentTarget }) => entry.change({ listed: currentTarget.checked ? '' : false })}
      />
      <Fieldset legend={list.from === null ? text.firstPrice : `${text.priceInForce} · ${text.from(list.from)}`}>
        <Stack gap="sm">
          <PriceFields
            list={listIn(entry.value, list)}
            onChange={(next) => entry.replace(withValueAt(entry.value, list.path, next))}
            tables={MODEL_TABLES}
            elsewhere={ELSEWHERE}
          />
          <ExampleCost catalog={catalog} entry={entry} />
        </Stack>
      </Fieldset>
      <RouteFields
        routes={listOf(entry.value.routes).map(fieldsOf)}
        onChange={(routes) => entry.change({ routes })}
        providers={catalog.value.providers}
        modelName={entry.name}
      />
      <AttemptFields entry={entry} models={Object.keys(catalog.value.models).filter((name) => name !== entry.name)} />
    </Stack>
  );
}

/** Members that the form of later prices shows. */
const ELSEWHERE = ['later', 'from'];
