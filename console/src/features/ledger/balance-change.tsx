import { Group, Paper, Text } from '@mantine/core';
import { Yuan } from '../../parts/figures.tsx';
import { useTexts } from '../../text/language.tsx';
import { moneyTexts } from './operator-texts.ts';

/** The current and the resulting balance; `then` is `null` until an amount is entered. */
export function BalanceChange({ now, then }: { readonly now: string; readonly then: string | null }) {
  const text = useTexts(moneyTexts);
  return (
    <Paper withBorder p="sm" role="status">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{text.balanceNow}</Text>
        <Text size="sm" component="div">
          <Yuan amount={now} />
        </Text>
      </Group>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600}>
          {text.balanceThen}
        </Text>
        <Text size="sm" fw={600} component="div" {...(then?.startsWith('-') ? { c: 'red' } : {})}>
          <Yuan amount={then} />
        </Text>
      </Group>
    </Paper>
  );
}
