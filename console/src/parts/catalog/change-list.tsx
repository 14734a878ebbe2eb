import { Badge, Group, List, Text } from '@mantine/core';
import type { CatalogChange } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { DimmedText } from '../small.ts';
import { changedValues, settingWords } from './change-words.ts';
import { useSettingName } from './setting-names.ts';
import { catalogTexts } from './texts.ts';

const COLORS = { added: 'teal', removed: 'red', changed: 'blue' } as const;
const SHOWN_MAX = 200;

/** The difference of two catalogs in words, with money; `null` if one of them cannot be read here. */
export function ChangeList({ changes }: { readonly changes: readonly CatalogChange[] | null }) {
  const text = useTexts(catalogTexts);
  const sentence = useChangeSentence();
  if (changes === null) return <DimmedText>{text.notComparable}</DimmedText>;
  if (changes.length === 0) return <DimmedText>{text.noDifference}</DimmedText>;
  return (
    <>
      <List listStyleType="none" spacing={4} aria-label={text.difference}>
        {changes.slice(0, SHOWN_MAX).map((change) => (
          <List.Item key={JSON.stringify(change)} styles={{ itemWrapper: { display: 'block' } }}>
            <Group gap="xs" wrap="nowrap" align="flex-start">
              <Badge color={COLORS[change.kind]} style={{ flexShrink: 0 }}>
                {text.kinds[change.kind]}
              </Badge>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {sentence(change)}
              </Text>
            </Group>
          </List.Item>
        ))}
      </List>
      {changes.length > SHOWN_MAX && <DimmedText>{text.more(changes.length - SHOWN_MAX)}</DimmedText>}
    </>
  );
}

/** A change such as "acme-large: output ¥16 → ¥14 from 2026-12-01". */
function useChangeSentence(): (change: CatalogChange) => string {
  const text = useTexts(catalogTexts);
  const nameOf = useSettingName();
  return (change) => {
    const { section, name, setting, from } = change;
    const what = setting === null ? (name === null ? '' : text.sections[section]) : settingWords(setting, nameOf);
    const start = from === null ? null : text.fromDay(from);
    const rest = [what, changedValues(change), start].filter((part) => part !== null && part !== '').join(' ');
    return `${name ?? text.sections[section]}${text.colon}${rest}`;
  };
}
