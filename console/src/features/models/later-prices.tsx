import { Button, Fieldset, Group, Stack, TextInput } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import { entryOf, type Fields, fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import type { CatalogEdit } from '../../parts/catalog/edits.ts';
import { edited } from '../../parts/catalog/edits.ts';
import { PriceFields } from '../../parts/catalog/price-fields.tsx';
import { type PriceDraft, priceDraft, startMs, withPrices } from '../../parts/catalog/price-lists.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { isDay } from '../../parts/days.ts';
import { SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';

interface LaterPricesDialogProps {
  readonly name: string;
  readonly catalog: Catalog;
  readonly onClose: () => void;
}

interface LaterDraft {
  readonly key: number;
  readonly from: string;
  readonly prices: PriceDraft;
  /** The list that it changes: its own, or the one that a new list follows. */
  readonly fields: Fields;
}

/** The prices of a model that apply from a day on. Mounted while it is open. */
export function LaterPricesDialog({ name, catalog, onClose }: LaterPricesDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const { zones } = useTimezone();
  const [{ first, stored }] = useState(() => storedLists(catalog.state.text, name));
  const [lists, setLists] = useState<readonly LaterDraft[]>(() => {
    const drafts = stored.map((fields, key) => laterDraft(fields, key));
    return drafts.length > 0 ? drafts : [following(first, [])];
  });
  const change = (key: number, changed: Partial<LaterDraft>) =>
    setLists(lists.map((list) => (list.key === key ? { ...list, ...changed } : list)));
  const titleOf = (from: string): string => (from === '' ? text.newPrices : text.pricesFrom(from));
  const edits = (): CatalogEdit[] => {
    const sorted = lists.toSorted((a, b) => startMs(a.from, zones.billing) - startMs(b.from, zones.billing));
    const after = sorted.map(({ from, fields, prices }) => ({ from, ...withPrices(fields, prices) }));
    const before = stored.map((fields) => laterFields(laterDraft(fields, 0)));
    return edited(['models', name, 'price', 'later'], before, after);
  };
  return (
    <CatalogDialog
      isOpen
      onClose={onClose}
      title={text.laterTitle(name)}
      catalog={catalog}
      problem={() => (lists.some(({ from }) => Number.isNaN(startMs(from, zones.billing))) ? text.dayNeeded : null)}
      edits={edits}
    >
      {lists.map(({ key, from, prices, fields }) => (
        <Fieldset key={key} legend={titleOf(from)}>
          <Stack gap="sm">
            <Group align="flex-end" justify="space-between">
              {from === '' || isDay(from) ? (
                <CalendarField
                  type="date"
                  label={text.firstDay}
                  description={text.firstDayHint(zones.billing)}
                  required
                  value={from}
                  onChange={(day) => change(key, { from: day })}
                />
              ) : (
                <TextInput
                  label={text.firstDay}
                  description={text.startHint}
                  required
                  value={from}
                  onChange={({ currentTarget }) => change(key, { from: currentTarget.value })}
                />
              )}
              <SmallButton
                aria-label={text.removeLater(titleOf(from))}
                onClick={() => setLists(lists.filter((list) => list.key !== key))}
              >
                {text.remove}
              </SmallButton>
            </Group>
            <PriceFields prices={prices} onChange={(next) => change(key, { prices: next })} fields={fields} />
          </Stack>
        </Fieldset>
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<PlusIcon />}
        onClick={() => setLists([...lists, following(first, lists)])}
        style={{ alignSelf: 'flex-start' }}
      >
        {text.addLater}
      </Button>
    </CatalogDialog>
  );
}

function storedLists(text: string, name: string) {
  const { later, ...first } = fieldsOf(entryOf(text, 'models', name).price);
  return { first, stored: listOf(later).map(fieldsOf) };
}

function laterDraft({ from, ...fields }: Fields, key: number): LaterDraft {
  return { key, from: textOf(from), prices: priceDraft(fields), fields };
}

const laterFields = ({ from, fields, prices }: LaterDraft): Fields => ({ from, ...withPrices(fields, prices) });

/** A new list with the prices of the last one. */
function following(first: Fields, lists: readonly LaterDraft[]): LaterDraft {
  const last = lists.at(-1);
  const key = Math.max(-1, ...lists.map((list) => list.key)) + 1;
  const fields = last === undefined ? first : last.fields;
  return { key, from: '', prices: last?.prices ?? priceDraft(first), fields };
}
