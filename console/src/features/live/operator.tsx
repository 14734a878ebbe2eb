import { useEffect } from 'react';
import { useList } from '../../api/queries.ts';
import type { CallInFlight } from '../../api/types.ts';
import { PageFrame } from '../../layout/page-frame.tsx';
import { loadedLater } from '../../parts/loaded-later.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { Attention } from './attention.tsx';
import { FirstStepsSection, useFirstSteps } from './first-steps.tsx';
import { InFlight } from './in-flight.tsx';
import { liveTexts } from './texts.ts';
import { TodayTiles } from './today-tiles.tsx';

// The chart library is large, so it loads after the page.
const callsByMinute = loadedLater(async () => (await import('./calls-by-minute.tsx')).CallsByMinute);

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
  useEffect(callsByMinute.preload, []);
  return (
    <Page lead={text.lead}>
      {steps === null ? <TodayTiles inFlight={inFlight} /> : <FirstStepsSection steps={steps} />}
      {steps === null && (
        <Section title={text.perMinute} lead={text.lastHour}>
          <PageFrame>
            <callsByMinute.Component />
          </PageFrame>
        </Section>
      )}
      <Attention />
      {steps === null && <InFlight list={inFlight} />}
    </Page>
  );
}
