import { Button, Fieldset, Group, Stack, TextInput } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { type Fields, fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import { asNewItem } from '../../parts/catalog/edits.ts';
import { EntryDialog, type EntryDialogProps } from '../../parts/catalog/entry-dialog.tsx';
import { ExampleCost } from '../../parts/catalog/example-cost.tsx';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { MODEL_TABLES } from '../../parts/catalog/price-keys.ts';
import { startMs } from '../../parts/catalog/price-lists.ts';
import { useEntry } from '../../parts/catalog/use-entry.ts';
import { isDay } from '../../parts/days.ts';
import { SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';

interface LaterPricesDialogProps extends EntryDialogProps {
  readonly name: string;
}

interface Later {
  readonly key: number;
  readonly list: Fields;
}

/** The prices of a model that apply from a day on. Mounted while it is open. */
export function LaterPricesDialog({ name, ...dialog }: LaterPricesDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const { zones } = useTimezone();
  const entry = useEntry(dialog.catalog, 'models', name);
  const price = fieldsOf(entry.value.price);
  const [lists, setLists] = useState<readonly Later[]>(() => {
    const stored = listOf(price.later).map((list, key) => ({ key, list: fieldsOf(list) }));
    return stored.length > 0 ? stored : [{ key: 0, list: following(price, []) }];
  });
  const startOf = ({ list }: Later): number => startMs(textOf(list.from), zones.billing);
  const set = (next: readonly Later[]): void => {
    setLists(next);
    const later = next.toSorted((one, other) => startOf(one) - startOf(other)).map(({ list }) => list);
    entry.change({ price: { ...price, later } });
  };
  const change = (key: number, changed: Fields): void =>
    set(lists.map((each) => (each.key === key ? { key, list: { ...each.list, ...changed } } : each)));
  return (
    <EntryDialog
      {...dialog}
      entry={entry}
      title={text.laterTitle(name)}
      problem={() => (lists.some((each) => Number.isNaN(startOf(each))) ? text.dayNeeded : null)}
    >
      {lists.map(({ key, list }) => (
        <LaterList
          key={key}
          list={list}
          onChange={(changed) => change(key, changed)}
          onRemove={() => set(lists.filter((each) => each.key !== key))}
        />
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<PlusIcon />}
        onClick={() => {
          const key = Math.max(-1, ...lists.map((each) => each.key)) + 1;
          set([...lists, { key, list: following(price, lists) }]);
        }}
        style={{ alignSelf: 'flex-start' }}
      >
        {text.addLater}
      </Button>
      <ExampleCost catalog={dialog.catalog} entry={entry} />
    </EntryDialog>
  );
}

/** A new list with the prices of the last one. */
function following({ later: _later, ...first }: Fields, lists: readonly Later[]): Fields {
  const { from: _from, ...prices } = asNewItem(lists.at(-1)?.list ?? first);
  return { from: '', ...prices };
}

interface LaterListProps {
  readonly list: Fields;
  readonly onChange: (changed: Fields) => void;
  readonly onRemove: () => void;
}

/** Members that are shown above the prices. */
const ELSEWHERE = ['from'];

function LaterList({ list, onChange, onRemove }: LaterListProps) {
  const text = useTexts(catalogModelsTexts);
  const { zones } = useTimezone();
  const from = textOf(list.from);
  const title = from === '' ? text.newPrices : text.pricesFrom(from);
  return (
    <Fieldset legend={title}>
      <Stack gap="sm">
        <Group align="flex-end" justify="space-between">
          {from === '' || isDay(from) ? (
            <CalendarField
              type="date"
              label={text.firstDay}
              description={text.firstDayHint(zones.billing)}
              required
              value={from}
              onChange={(day) => onChange({ from: day })}
            />
          ) : (
            <TextInput
              label={text.firstDay}
              description={text.startHint}
              required
              value={from}
              onChange={({ currentTarget }) => onChange({ from: currentTarget.value })}
            />
          )}
          <SmallButton aria-label={text.removeLater(title)} onClick={onRemove}>
            {text.remove}
          </SmallButton>
        </Group>
        <PriceFields list={list} onChange={onChange} tables={MODEL_TABLES} elsewhere={ELSEWHERE} />
      </Stack>
    </Fieldset>
  );
}
