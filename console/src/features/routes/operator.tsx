import { Group, Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Route } from '../../api/types.ts';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { DateRangePicker } from '../../parts/date-range.tsx';
import { dayIn, lastDays, rangeOf } from '../../parts/days.ts';
import { Instant } from '../../parts/figures.tsx';
import { usePlaceAction } from '../../parts/forms/use-dialog.ts';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ErrorNotice, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { routeName } from '../../parts/route-name.ts';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { DialectSearchButton } from './dialect-search.tsx';
import { DrainButton, DrainDialog, Drains, ResumeButton, targetsOf } from './drains.tsx';
import { Limits } from './limits.tsx';
import { FiguresOfProvider, type ProviderFigures, useProviderFigures, useRouteSums } from './provider-figures.tsx';
import { ProviderTestButton } from './provider-test.tsx';
import { Credentials, RouteState } from './route-state.tsx';
import { routesTexts } from './texts.ts';
import { UnpricedUses } from './unpriced.tsx';

export function RoutesPage() {
  const text = useTexts(routesTexts);
  const { billingTimezone } = useSession();
  const [query, setQuery] = usePlaceQuery();
  const today = dayIn(billingTimezone, Date.now());
  const range = rangeOf(query, lastDays(1, today));
  const figures = useProviderFigures(range);
  const sumsOf = useRouteSums(range);
  const read = useRead('GET /admin/v1/routes', {}, { isLive: true });
  const { data } = read;
  const mayOperate = useMayOperate();
  const byProvider = Object.entries(Object.groupBy(data?.data ?? [], ({ provider }) => provider));
  return (
    <Page lead={text.lead}>
      <Group gap="sm" role="group" aria-label={text.figures}>
        <DateRangePicker value={range} onChange={({ from, to }) => setQuery({ from, to })} today={today} />
      </Group>
      <ReadState read={read} />
      <ErrorNotice error={figures.error} onRetry={figures.retry} />
      {data !== undefined && <Drains drains={data.drains} />}
      {data !== undefined && <Limits limits={data.limits} />}
      {data !== undefined && byProvider.length === 0 && <EmptyState title={text.noRoutes} hint={text.noRoutesHint} />}
      {byProvider.map(([provider, routes = []]) => (
        <Provider
          key={provider}
          provider={provider}
          routes={routes}
          sumsOf={sumsOf}
          figures={figures.byProvider === null ? null : figures.byProvider.get(provider)}
        />
      ))}
      <UnpricedUses />
      {mayOperate && <DrainOfPlace routes={data?.data ?? []} />}
    </Page>
  );
}

/** The dialog to drain the route that the page address names. */
function DrainOfPlace({ routes }: { readonly routes: readonly Route[] }) {
  const [action, setAction] = usePlaceAction(['drain']);
  const route = routes.find((each) => action?.name === routeName(each));
  if (route === undefined) return null;
  return <DrainDialog isOpen onClose={() => setAction(null)} targets={targetsOf(route)} />;
}

interface ProviderProps {
  readonly provider: string;
  readonly routes: readonly Route[];
  readonly sumsOf: ReturnType<typeof useRouteSums>;
  /** `undefined` if the provider had no calls, `null` if the figures are unknown. */
  readonly figures: ProviderFigures | undefined | null;
}

function Provider({ provider, routes, sumsOf, figures }: ProviderProps) {
  const text = useTexts(routesTexts);
  const mayOperate = useMayOperate();
  const models = [...new Set(routes.map(({ model }) => model))];
  const drain = routes.find(({ drained }) => isOfProvider(drained))?.drained;
  const whole = { provider, model: null, providerModel: null };
  const actions = mayOperate && (
    <>
      <ProviderTestButton provider={provider} models={models} />
      <DialectSearchButton provider={provider} models={models} />
      {drain === undefined || drain === null ? (
        <DrainButton label={text.drainProvider} targets={[whole]} />
      ) : (
        <ResumeButton drain={drain} />
      )}
    </>
  );
  return (
    <Section title={provider} actions={actions}>
      <Stack gap="md">
        <FiguresOfProvider figures={figures} />
        <RouteTable provider={provider} routes={routes} sumsOf={sumsOf} />
      </Stack>
    </Section>
  );
}

const isOfProvider = (drain: Route['drained']): boolean =>
  drain !== null && drain.model === null && drain.providerModel === null;

function RouteTable({ provider, routes, sumsOf }: Omit<ProviderProps, 'figures'>) {
  const text = useTexts(routesTexts);
  const mayOperate = useMayOperate();
  const columns: Column<Route>[] = [
    { header: text.model, cell: (route) => <ModelOfRoute route={route} /> },
    { header: text.providerModel, cell: ({ providerModel }) => providerModel },
    { header: text.priority, isFigure: true, cell: ({ priority, weight }) => `${priority} / ${weight}` },
    { header: text.marginShare, isFigure: true, cell: (route) => <MarginShare sums={sumsOf(route)} /> },
    { header: text.state, cell: (route) => <RouteState route={route} /> },
    { header: text.lastError, cell: (route) => <LastError route={route} /> },
    { header: text.credential, cell: (route) => <Credentials route={route} /> },
  ];
  if (mayOperate) columns.push({ header: text.drain, cell: (route) => <RouteDrain route={route} /> });
  return (
    <DataTable
      label={text.routesOf(provider)}
      items={routes}
      idOf={({ model, providerModel }) => `${model} ${providerModel}`}
      columns={columns}
    />
  );
}

/** The model, and the operations that are translated for the provider. */
function ModelOfRoute({ route: { model, translates } }: { readonly route: Route }) {
  const text = useTexts(routesTexts);
  const operationName = useOperationName();
  return (
    <>
      {model}
      {translates.length > 0 && (
        <SmallText component="div">{text.translates(translates.map(operationName).join(', '))}</SmallText>
      )}
    </>
  );
}

function LastError({ route: { lastError, lastErrorAt, triedAgainAt } }: { readonly route: Route }) {
  const text = useTexts(routesTexts);
  if (lastError === null) return <span>–</span>;
  return (
    <>
      <Text size="sm" miw={{ base: 0, sm: 200 }} maw={320}>
        <GatewayMessage>{lastError}</GatewayMessage>
      </Text>
      <SmallText component="div">
        {lastErrorAt !== null && <Instant at={lastErrorAt} />}
        {triedAgainAt !== null && (
          <div>
            {text.triedAgain}: <Instant at={triedAgainAt} />
          </div>
        )}
      </SmallText>
    </>
  );
}

function RouteDrain({ route }: { readonly route: Route }) {
  const text = useTexts(routesTexts);
  const { drained } = route;
  // A drain of the whole provider is ended at the provider.
  if (isOfProvider(drained)) return <span>–</span>;
  if (drained !== null) return <ResumeButton drain={drained} />;
  return <DrainButton label={text.drain} targets={targetsOf(route)} />;
}
