import { SimpleGrid } from '@mantine/core';
import type { UsageGroup } from '../../api/types.ts';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { tokensOf } from '../../parts/usage/usage-parts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { operatorUsageTexts } from './operator-texts.ts';
import { usageTexts } from './texts.ts';

/** The sums of the range; `undefined`: there were no calls. */
export function SumTiles({ sums }: { readonly sums: UsageGroup | undefined }) {
  const text = useTexts(operatorUsageTexts);
  const words = useTexts(usageTexts);
  const format = useFormat();
  const hasHeld = sums !== undefined && /[1-9]/.test(sums.heldYuan);
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm">
      <Tile label={words.calls}>{format.count(sums?.calls ?? 0)}</Tile>
      <Tile label={words.tokens}>{format.shortCount(sums === undefined ? 0 : tokensOf(sums))}</Tile>
      <Tile label={words.netCharge} detail={hasHeld ? text.held(format.yuan(sums.heldYuan)) : undefined}>
        <Yuan amount={sums?.netChargeYuan ?? '0'} isShort />
      </Tile>
      <Tile label={text.cost}>
        <Yuan amount={sums?.costYuan ?? '0'} isShort />
      </Tile>
      <Tile
        label={text.margin}
        detail={
          sums !== undefined && sums.marginYuan === null
            ? text.callsWithoutCost(format.count(sums.callsWithoutCost))
            : undefined
        }
      >
        <Yuan amount={sums === undefined ? '0' : sums.marginYuan} isShort />
      </Tile>
    </SimpleGrid>
  );
}
