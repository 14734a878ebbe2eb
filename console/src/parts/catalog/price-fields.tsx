import { ActionIcon, Fieldset, Group, NativeSelect, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core';
import { XIcon } from '@primer/octicons-react';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { YuanField } from '../forms/number-fields.tsx';
import { DimmedText } from '../small.ts';
import { type Fields, fieldsOf, textOf, textsOf } from './catalog-value.ts';
import { numberOrText } from './edits.ts';
import { KeyedRows } from './keyed-rows.tsx';
import { DAY_TABLES, PRICE_KEYS, type PriceTable, STEP_TABLES } from './price-keys.ts';
import { addableTables, amountKeys, newTable, shownTables, tokenPrices } from './price-lists.ts';
import { useSettingName } from './setting-names.ts';
import { catalogTexts } from './texts.ts';

interface PriceFieldsProps {
  readonly list: Fields;
  readonly onChange: (list: Fields) => void;
  /** The tables that this kind of list can have. */
  readonly tables: readonly PriceTable[];
  /** Members that are shown elsewhere. */
  readonly elsewhere?: readonly string[];
}

/** A price list: amounts in yuan, and tables of them. Members that have no field are named, and stay as they are. */
export function PriceFields({ list, onChange, tables, elsewhere = [] }: PriceFieldsProps) {
  const text = useTexts(catalogTexts);
  const nameOf = useSettingName();
  const { zones } = useTimezone();
  const amounts = amountKeys(list);
  const shown = shownTables(list, tables);
  const others = Object.keys(list).filter(
    (key) => ![...amounts, ...shown, ...elsewhere].includes(key) && list[key] !== undefined,
  );
  const add = (chosen: string): void => {
    const table = tables.find((each) => `table ${each}` === chosen);
    onChange({ ...list, ...(table ? { [table]: newTable(table, list, zones.billing) } : { [chosen]: '' }) });
  };
  return (
    <Stack gap="xs">
      <DimmedText>{text.perMillion}</DimmedText>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        {amounts.map((key) => (
          <Amount key={key} name={key} list={list} onChange={onChange} />
        ))}
        <NativeSelect
          label={text.addPrice}
          value=""
          onChange={({ currentTarget }) => add(currentTarget.value)}
          data={[
            { value: '', label: '…' },
            ...PRICE_KEYS.filter((key) => list[key] === undefined && !amounts.includes(key)).map((key) => ({
              value: key,
              label: nameOf(key),
            })),
            ...addableTables(list, tables).map((table) => ({ value: `table ${table}`, label: text.tables[table] })),
          ]}
        />
      </SimpleGrid>
      {shown.map((table) => (
        <Table key={table} table={table} list={list} onChange={onChange} />
      ))}
      {others.length > 0 && <DimmedText>{text.alsoSet(others.map(nameOf).join(text.comma))}</DimmedText>}
    </Stack>
  );
}

interface AmountProps extends Pick<PriceFieldsProps, 'list' | 'onChange'> {
  readonly name: string;
}

function Amount({ name, list, onChange }: AmountProps) {
  const nameOf = useSettingName();
  return (
    <YuanField
      label={capitalized(nameOf(name))}
      value={textOf(list[name])}
      onChange={(amount) => onChange({ ...list, [name]: amount })}
    />
  );
}

interface TableProps extends Pick<PriceFieldsProps, 'list' | 'onChange'> {
  readonly table: PriceTable;
}

function Table({ table, list, onChange }: TableProps) {
  const text = useTexts(catalogTexts);
  const title = text.tables[table];
  return (
    <Fieldset
      legend={
        <Group gap={4}>
          {title}
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={text.removeTable(title)}
            onClick={() => onChange({ ...list, [table]: undefined })}
          >
            <XIcon />
          </ActionIcon>
        </Group>
      }
    >
      <TableFields
        table={table}
        list={list}
        value={fieldsOf(list[table])}
        onChange={(value) => onChange({ ...list, [table]: value })}
      />
    </Fieldset>
  );
}

interface TableFieldsProps {
  readonly table: PriceTable;
  /** The list that contains the table. */
  readonly list: Fields;
  readonly value: Fields;
  readonly onChange: (value: Fields) => void;
}

function TableFields({ table, list, value, onChange }: TableFieldsProps) {
  const text = useTexts(catalogTexts);
  const rows = { table: value, onChange, title: text.tables[table] };
  switch (table) {
    case 'above':
    case 'outputAbove':
      return (
        <KeyedRows
          {...rows}
          keyLabel={text.tokensAbove}
          keyPattern="[1-9][0-9]{0,8}"
          keyHint={text.tokensAboveHint}
          newValue={() => tokenPrices(list)}
        >
          {(prices, change) => (
            <ReplacingPrices
              list={list}
              prices={fieldsOf(prices)}
              onChange={change}
              tables={table === 'above' ? STEP_TABLES : []}
            />
          )}
        </KeyedRows>
      );
    case 'thinking':
      return <ReplacingPrices list={list} prices={value} onChange={onChange} tables={[]} />;
    case 'timeOfDay':
      return <TimeOfDay value={value} onChange={onChange} />;
    case 'official':
      return <OfficialPrices value={value} onChange={onChange} />;
    default:
      return (
        <KeyedRows {...rows} keyLabel={table === 'perImage' ? text.qualityOrSize : text.term} newValue={() => ''}>
          {(amount, change) =>
            table === 'perImage' ? (
              <YuanField label={text.price} required value={textOf(amount)} onChange={change} style={WIDE} />
            ) : (
              <TextInput
                label={text.factor}
                required
                pattern="[0-9]{1,4}([.][0-9]{1,9})?"
                title={text.factorHint}
                inputMode="decimal"
                autoComplete="off"
                value={textOf(amount)}
                onChange={({ currentTarget }) => change(currentTarget.value.trim())}
                style={WIDE}
              />
            )
          }
        </KeyedRows>
      );
  }
}

const WIDE = { flex: '1 1 130px' } as const;

interface ReplacingPricesProps {
  readonly list: Fields;
  readonly prices: Fields;
  readonly onChange: (prices: Fields) => void;
  readonly tables: readonly PriceTable[];
}

/** Prices of tokens that replace those of a list: they have the same keys. */
function ReplacingPrices({ list, prices, onChange, tables }: ReplacingPricesProps) {
  const keys = Object.keys({ ...tokenPrices(list), ...tokenPrices(prices) });
  const shown = shownTables(prices, tables);
  const addable = addableTables(prices, tables);
  const text = useTexts(catalogTexts);
  return (
    <Stack gap="xs" style={{ flex: '1 1 100%' }}>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        {keys.map((key) => (
          <Amount key={key} name={key} list={prices} onChange={onChange} />
        ))}
        {addable.length > 0 && (
          <NativeSelect
            label={text.addPrice}
            value=""
            onChange={({ currentTarget: { value: table } }) =>
              onChange({ ...prices, [table]: newTable(table as PriceTable, prices, '') })
            }
            data={[{ value: '', label: '…' }, ...addable.map((table) => ({ value: table, label: text.tables[table] }))]}
          />
        )}
      </SimpleGrid>
      {shown.map((table) => (
        <Table key={table} table={table} list={prices} onChange={onChange} />
      ))}
    </Stack>
  );
}

const TIME_MEMBERS = ['hours'];

function TimeOfDay({ value, onChange }: Pick<TableFieldsProps, 'value' | 'onChange'>) {
  const text = useTexts(catalogTexts);
  const peak = fieldsOf(value.peak);
  const changePeak = (changed: Fields): void => onChange({ ...value, peak: { ...peak, ...changed } });
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        {(['id', 'timezone'] as const).map((name) => (
          <TextInput
            key={name}
            label={name === 'id' ? text.name : text.timezone}
            required
            value={textOf(value[name])}
            onChange={({ currentTarget }) => onChange({ ...value, [name]: currentTarget.value.trim() })}
            autoComplete="off"
            spellCheck={false}
          />
        ))}
        <TagsInput
          label={text.peakHours}
          description={text.peakHoursHint}
          value={textsOf(peak.hours)}
          onChange={(hours) => changePeak({ hours })}
          acceptValueOnBlur
        />
      </SimpleGrid>
      <Fieldset legend={text.peak}>
        <PriceFields list={peak} onChange={changePeak} tables={DAY_TABLES} elsewhere={TIME_MEMBERS} />
      </Fieldset>
      <Fieldset legend={text.offPeak}>
        <PriceFields
          list={fieldsOf(value.offPeak)}
          onChange={(offPeak) => onChange({ ...value, offPeak })}
          tables={DAY_TABLES}
        />
      </Fieldset>
    </Stack>
  );
}

function OfficialPrices({ value, onChange }: Pick<TableFieldsProps, 'value' | 'onChange'>) {
  const text = useTexts(catalogTexts);
  return (
    <SimpleGrid cols={{ base: 1, xs: 4 }} spacing="sm" style={{ alignItems: 'end' }}>
      {['input', 'cachedInput', 'output'].map((key) => (
        <Amount key={key} name={key} list={value} onChange={onChange} />
      ))}
      <TextInput
        label={text.shareOfList}
        description={text.shareOfListHint}
        required
        pattern="[0-9]{1,5}"
        inputMode="numeric"
        autoComplete="off"
        value={textOf(value.discountBasisPoints)}
        onChange={({ currentTarget }) =>
          onChange({ ...value, discountBasisPoints: numberOrText(currentTarget.value.trim()) })
        }
      />
    </SimpleGrid>
  );
}

function capitalized(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
