import { Alert, Radio, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useRead } from '../../api/queries.ts';
import type { Drain, Route } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { type DialogProps, useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { type DrainTarget, modelsLeftWithout } from './only-routes.ts';
import { routesTexts } from './texts.ts';

function useTargetName(): (target: DrainTarget) => string {
  const text = useTexts(routesTexts);
  return ({ provider, model, providerModel }) => {
    if (model !== null && providerModel !== null) return text.scopeRoute(provider, model, providerModel);
    const of = model ?? providerModel;
    return of === null ? text.scopeProvider(provider) : text.scopeModel(provider, of);
  };
}

const keyOf = ({ provider, model, providerModel }: DrainTarget): string =>
  JSON.stringify([provider, model, providerModel]);

interface DrainsProps {
  readonly drains: readonly (Drain & { readonly routes: number })[];
}

export function Drains({ drains }: DrainsProps) {
  const text = useTexts(routesTexts);
  const mayOperate = useMayOperate();
  const nameOf = useTargetName();
  if (drains.length === 0) return null;
  const columns: Column<DrainsProps['drains'][number]>[] = [
    { header: text.where, cell: (drain) => nameOf(drain) },
    { header: text.reason, cell: ({ reason }) => reason ?? '–' },
    { header: text.by, cell: ({ by }) => by },
    { header: text.since, cell: ({ since }) => <Instant at={since} isRelative /> },
    { header: text.routesCount, isFigure: true, cell: ({ routes }) => routes },
  ];
  if (mayOperate) columns.push({ header: text.resume, cell: (drain) => <ResumeButton drain={drain} /> });
  return (
    <Section title={text.drains} lead={text.drainsLead}>
      <DataTable label={text.drains} items={drains} idOf={keyOf} columns={columns} />
    </Section>
  );
}

export function ResumeButton({ drain }: { readonly drain: DrainTarget }) {
  const text = useTexts(routesTexts);
  const nameOf = useTargetName();
  const { provider, model, providerModel } = drain;
  return (
    <ConfirmButton
      label={text.resume}
      question={text.resumeQuestion(nameOf(drain))}
      endpoint="POST /admin/v1/routes/resume"
      input={{ body: { provider, model, providerModel } }}
      onDone={() => notifications.hide(warningOf(drain))}
    />
  );
}

interface DrainProps {
  /** From narrowest to widest. The first is the default. */
  readonly targets: readonly DrainTarget[];
}

export function DrainButton({ label, targets }: DrainProps & { readonly label: string }) {
  const nameOf = useTargetName();
  const [open, dialog] = useDialog();
  return (
    <>
      <SmallButton onClick={open} aria-label={`${label}: ${nameOf(targets[0]!)}`}>
        {label}
      </SmallButton>
      <DrainDialog targets={targets} {...dialog} />
    </>
  );
}

export function DrainDialog({ targets, ...dialog }: DrainProps & DialogProps) {
  const text = useTexts(routesTexts);
  const nameOf = useTargetName();
  const [{ chosen, reason }, field, set] = useDraft(() => ({ chosen: 0, reason: '' }), dialog.isOpen);
  const routes = useRead('GET /admin/v1/routes', {}).data?.data ?? [];
  const without = dialog.isOpen ? modelsLeftWithout(routes, targets[chosen]!) : [];
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/routes/drain"
      title={text.drain}
      isDangerous
      {...dialog}
      input={() => ({ body: { ...targets[chosen]!, reason: reason.trim() || undefined } })}
      onDone={({ modelsWithoutRoutes }) =>
        notifications.show(
          modelsWithoutRoutes.length === 0
            ? { color: 'teal', message: text.drainDone }
            : {
                id: warningOf(targets[chosen]!),
                color: 'red',
                title: text.withoutRoutes,
                message: text.withoutRoutesHint(modelsWithoutRoutes.join(', ')),
                autoClose: WARNING_MS,
              },
        )
      }
    >
      {targets.length === 1 ? (
        <Text fw={600}>{nameOf(targets[0]!)}</Text>
      ) : (
        <Radio.Group label={text.scope} value={String(chosen)} onChange={(index) => set({ chosen: Number(index) })}>
          <Stack gap="xs" mt={4}>
            {targets.map((target, index) => (
              <Radio key={keyOf(target)} value={String(index)} label={nameOf(target)} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <TextInput
        label={text.reason}
        description={text.reasonHint}
        maxLength={200}
        {...field('reason')}
        data-autofocus
      />
      {without.length === 0 ? (
        <Alert color="yellow">{text.drainHint}</Alert>
      ) : (
        <Alert color="red" role="alert">
          {text.onlyRoute(without.join(', '))}
        </Alert>
      )}
    </ChangeDialog>
  );
}

/** A route with its wider targets. */
export const targetsOf = ({ provider, model, providerModel }: Route): readonly DrainTarget[] => [
  { provider, model, providerModel },
  { provider, model, providerModel: null },
  { provider, model: null, providerModel: null },
];

/** The warning that models have no routes left. Resuming the target removes it. */
const warningOf = (target: DrainTarget): string => `drain ${keyOf(target)}`;
const WARNING_MS = 30_000;
