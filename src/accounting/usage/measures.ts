import { snakeCase } from '../../lib/snake-case.ts';
import { shownUnits, type UnitName, usageUnits } from '../../protocols/metering/usage-units.ts';

interface Measure {
  readonly column: string;
  /** SQL: the value for a final call record `c`. */
  readonly ofCall: string;
}

interface UnitMeasure extends Measure {
  readonly unit: UnitName;
}

/** Sums of token and other units. Only units that are shown or charged have a sum. */
export const unitMeasures: readonly UnitMeasure[] = shownUnits.map((unit) => {
  const { column } = usageUnits[unit];
  return column === null
    ? { unit, column: snakeCase(unit), ofCall: `coalesce((c.other_units ->> '${unit}')::bigint, 0)` }
    : { unit, column, ofCall: `c.${column}` };
});

/** Column of refunds, which are summed from ledger entries instead of call records. */
export const REFUND_COLUMN = 'refund_nano';

export const measures: readonly Measure[] = [
  { column: 'calls', ofCall: '1' },
  { column: 'charge_nano', ofCall: 'coalesce(c.charge_nano, 0)' },
  { column: REFUND_COLUMN, ofCall: '0' },
  { column: 'cost_nano', ofCall: 'coalesce(c.cost_nano, 0)' },
  {
    column: 'uncosted_calls',
    ofCall: '(case when c.usage_source is not null and c.cost_nano is null then 1 else 0 end)',
  },
  { column: 'images', ofCall: 'c.images' },
  ...unitMeasures,
];
