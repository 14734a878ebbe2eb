import { SimpleGrid } from '@mantine/core';
import type { UsageGroup } from '../../api/types.ts';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { MarginShare, MarginYuan } from '../../parts/usage/margin-share.tsx';
import { tokensOf } from '../../parts/usage/usage-parts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { unknownMargin } from './margins.ts';
import { operatorUsageTexts } from './operator-texts.ts';
import { usageTexts } from './texts.ts';

const PARTS = [
  { label: 'balanceMargin', amount: 'balanceMarginYuan', share: 'balanceMarginBasisPoints' },
  { label: 'ofPlans', amount: 'planMarginYuan', share: 'planMarginBasisPoints' },
] as const;

/** Sums of the range; `undefined` if there were no calls. */
export function SumTiles({ sums }: { readonly sums: UsageGroup | undefined }) {
  const text = useTexts(operatorUsageTexts);
  const words = useTexts(usageTexts);
  const format = useFormat();
  const hasHeld = sums !== undefined && /[1-9]/.test(sums.heldYuan);
  function detailOf(amount: string | null | undefined, basisPoints: number | null | undefined) {
    if (sums !== undefined && amount === null) return unknownMargin(sums, text, format);
    return basisPoints == null ? undefined : format.percent(basisPoints / 10_000);
  }
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Tile label={words.calls}>{format.count(sums?.calls ?? 0)}</Tile>
      <Tile label={words.netCharge} detail={hasHeld ? text.held(format.yuan(sums.heldYuan)) : undefined}>
        <Yuan amount={sums?.netChargeYuan ?? '0'} isShort />
      </Tile>
      <Tile
        label={text.margin}
        detail={
          sums === undefined ? undefined : sums.marginYuan === null ? (
            unknownMargin(sums, text, format)
          ) : (
            <MarginYuan amount={sums.marginYuan} />
          )
        }
      >
        <MarginShare sums={sums} />
      </Tile>
      <Tile label={words.tokens}>{format.shortCount(sums === undefined ? 0 : tokensOf(sums))}</Tile>
      <Tile label={text.planRevenue} detail={text.planRevenueHint}>
        <Yuan amount={sums === undefined ? '0' : sums.planRevenueYuan} isShort />
      </Tile>
      <Tile
        label={text.cost}
        detail={sums === undefined ? undefined : text.planCost(format.yuan(sums.planCostYuan, true))}
      >
        <Yuan amount={sums?.costYuan ?? '0'} isShort />
      </Tile>
      {PARTS.map(({ label, amount, share }) => (
        <Tile key={label} label={text[label]} detail={detailOf(sums?.[amount], sums?.[share])}>
          <MarginYuan amount={sums === undefined ? '0' : sums[amount]} />
        </Tile>
      ))}
    </SimpleGrid>
  );
}
