import { Badge, Group, Stack, Table, Text } from '@mantine/core';
import type { Call, OwnCall } from '../../api/types.ts';
import { LIST_PRICE_BASIS_POINTS, percentOf } from '../../parts/basis-points.ts';
import { Yuan } from '../../parts/figures.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { storyTexts } from './call-story-texts.ts';
import { chargeLines, factorsOf } from './charge-lines.ts';
import { unitTexts } from './unit-texts.ts';

/** Shows the charge of a call: counts times prices by line, then the factors on their sum. */
export function ChargeTable({ call }: { readonly call: OwnCall | Call }) {
  const text = useTexts(storyTexts);
  const units = useTexts(unitTexts) as Readonly<Record<string, string>>;
  const format = useFormat();
  if (call.context === 'coding') return <Text c="dimmed">{text.onPlan}</Text>;
  if (call.chargeYuan === null) return <Text c="dimmed">{text.notCharged}</Text>;
  const lines = chargeLines(call);
  const factors = factorsOf(call.price, call.pricedBy);
  const share = call.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS;
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Badge color={call.price.rule === 'peak' ? 'orange' : 'cyan'}>{text.rules[call.price.rule]}</Badge>
      </Group>
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{text.unit}</Table.Th>
            <Table.Th ta="right">{text.count}</Table.Th>
            <Table.Th ta="right">{text.each}</Table.Th>
            <Table.Th ta="right">{text.amount}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map(({ model, unit, count, priceYuan, per, step, amountYuan }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a call never change
            <Table.Tr key={index}>
              <Table.Td>
                {ownValue(units, unit) ?? unit}
                {model !== null && ` · ${model}`}
                {step?.above !== undefined && ` · ${text.above(step.above)}`}
                {step?.thinking && ` · ${text.thinking}`}
                {step?.outputAbove !== undefined && ` · ${text.outputAbove(step.outputAbove)}`}
              </Table.Td>
              <Table.Td ta="right" className="figure">
                {format.count(count)}
              </Table.Td>
              <Table.Td ta="right" className="figure">
                {per === 'million' ? text.perMillion(format.yuan(priceYuan)) : format.yuan(priceYuan)}
              </Table.Td>
              <Table.Td ta="right" className="figure">
                {format.yuan(amountYuan)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          {factors.map(({ term, factor }) => (
            <Table.Tr key={term}>
              <Table.Td colSpan={4}>{text.factor(term, factor)}</Table.Td>
            </Table.Tr>
          ))}
          {share !== LIST_PRICE_BASIS_POINTS && (
            <Table.Tr>
              <Table.Td colSpan={4}>{text.priceFactor(`${percentOf(share)}%`)}</Table.Td>
            </Table.Tr>
          )}
          <Total label={text.charge} amount={call.chargeYuan} isStrong />
          {call.refundedYuan !== null && call.refundedYuan !== '0' && (
            <Total label={text.refunded} amount={call.refundedYuan} />
          )}
        </Table.Tfoot>
      </Table>
    </Stack>
  );
}

function Total({
  label,
  amount,
  isStrong = false,
}: {
  readonly label: string;
  readonly amount: string;
  readonly isStrong?: boolean;
}) {
  return (
    <Table.Tr fw={isStrong ? 700 : 400}>
      <Table.Th scope="row" colSpan={3} fw="inherit">
        {label}
      </Table.Th>
      <Table.Td ta="right">
        <Yuan amount={amount} />
      </Table.Td>
    </Table.Tr>
  );
}
