import { NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useTexts } from '../../text/language.tsx';
import { YuanField } from '../forms/number-fields.tsx';
import { DimmedText } from '../small.ts';
import type { Fields } from './catalog-value.ts';
import { PRICE_KEYS } from './price-keys.ts';
import { otherKeys, type PriceDraft } from './price-lists.ts';
import { useSettingName } from './setting-names.ts';
import { catalogTexts } from './texts.ts';

interface PriceFieldsProps {
  readonly prices: PriceDraft;
  readonly onChange: (prices: PriceDraft) => void;
  /** The list in the text, whose other members are named. */
  readonly fields?: Fields;
}

/** The amounts of a price list, in yuan. */
export function PriceFields({ prices, onChange, fields = {} }: PriceFieldsProps) {
  const text = useTexts(catalogTexts);
  const nameOf = useSettingName();
  const others = otherKeys(fields);
  const shown = PRICE_KEYS.filter((key) => prices[key] !== undefined);
  const addable = PRICE_KEYS.filter((key) => prices[key] === undefined && !others.includes(key));
  return (
    <Stack gap="xs">
      <DimmedText>{text.perMillion}</DimmedText>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        {shown.map((key) => (
          <YuanField
            key={key}
            label={capitalized(nameOf(key))}
            value={prices[key] ?? ''}
            onChange={(amount) => onChange({ ...prices, [key]: amount })}
          />
        ))}
        <NativeSelect
          label={text.addPrice}
          value=""
          onChange={({ currentTarget }) => onChange({ ...prices, [currentTarget.value]: '' })}
          data={[{ value: '', label: '…' }, ...addable.map((key) => ({ value: key, label: nameOf(key) }))]}
        />
      </SimpleGrid>
      {others.length > 0 && <DimmedText>{text.alsoSet(others.map(nameOf).join(text.comma))}</DimmedText>}
    </Stack>
  );
}

function capitalized(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
