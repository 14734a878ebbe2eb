import { Alert, Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import type { Drain } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { ConfirmButton, FormDialog } from '../../parts/forms/dialogs.tsx';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

/** What takes no new calls; `null`: all of them. */
export interface DrainTarget {
  readonly provider: string;
  readonly model: string | null;
  readonly providerModel: string | null;
}

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

/** The drains in force, each to be taken back as it was made. */
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
  const resume = useChange('POST /admin/v1/routes/resume');
  const { provider, model, providerModel } = drain;
  return (
    <ConfirmButton
      label={text.resume}
      question={text.resumeQuestion(nameOf(drain))}
      onConfirm={() => resume.mutateAsync({ body: { provider, model, providerModel } })}
    />
  );
}

interface DrainButtonProps {
  readonly label: string;
  /** From the narrowest to the widest; the first is chosen at the beginning. */
  readonly targets: readonly DrainTarget[];
}

/** Takes something out of service, with a reason. */
export function DrainButton({ label, targets }: DrainButtonProps) {
  const text = useTexts(routesTexts);
  const nameOf = useTargetName();
  const drain = useChange('POST /admin/v1/routes/drain');
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [reason, setReason] = useState('');
  const open = (): void => {
    drain.reset();
    setChosen(0);
    setReason('');
    setIsOpen(true);
  };
  // The button is gone when the drain is in force, so what follows is not left to it.
  const submit = async (): Promise<void> => {
    const body = { ...targets[chosen]!, reason: reason.trim() || undefined };
    const { modelsWithoutRoutes } = await drain.mutateAsync({ body });
    setIsOpen(false);
    if (modelsWithoutRoutes.length === 0) notifications.show({ color: 'teal', message: text.drainDone });
    else {
      const message = text.withoutRoutesHint(modelsWithoutRoutes.join(', '));
      notifications.show({ color: 'red', title: text.withoutRoutes, message, autoClose: false });
    }
  };
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} aria-label={`${label}: ${nameOf(targets[0]!)}`}>
        {label}
      </Button>
      <FormDialog
        title={text.drain}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={text.drain}
        onSubmit={() => void submit().catch(() => undefined)}
        isBusy={drain.isPending}
        error={drain.error}
        isDangerous
      >
        {targets.length === 1 ? (
          <Text fw={600}>{nameOf(targets[0]!)}</Text>
        ) : (
          <Radio.Group label={text.scope} value={String(chosen)} onChange={(index) => setChosen(Number(index))}>
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
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
          data-autofocus
        />
        <Alert color="yellow">{text.drainHint}</Alert>
      </FormDialog>
    </>
  );
}
