import { useList } from '../../api/queries.ts';
import type { CallInFlight } from '../../api/types.ts';
import { Page } from '../../parts/page.tsx';
import { useTexts } from '../../text/language.tsx';
import { Attention } from './attention.tsx';
import { FirstSteps, useFirstSteps } from './first-steps.tsx';
import { InFlight } from './in-flight.tsx';
import { liveTexts } from './texts.ts';
import { TodayTiles } from './today-tiles.tsx';

const CALLS_MAX = 100;

export function LivePage() {
  const text = useTexts(liveTexts);
  const query = { status: 'in_flight', limit: CALLS_MAX } as const;
  const list = useList('GET /admin/v1/calls', { query }, { isLive: true });
  const inFlight = {
    ...list,
    items: list.items.filter((call): call is CallInFlight => call.status === 'in_flight'),
  };
  const steps = useFirstSteps();
  return (
    <Page lead={text.lead}>
      {steps === null ? <TodayTiles inFlight={inFlight} /> : <FirstSteps done={steps} />}
      <Attention />
      {steps === null && <InFlight list={inFlight} />}
    </Page>
  );
}
