import { Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import type { Call } from '../../api/types.ts';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { correctionTexts } from './resolution-texts.ts';

type Action = 'charge' | 'count' | 'release';

interface ResolutionButtonProps {
  readonly call: Call;
  readonly isSmall?: boolean;
}

/** Decides, once, what becomes of a call whose outcome nobody knows. */
export function ResolutionButton({ call, isSmall = false }: ResolutionButtonProps) {
  const text = useTexts(correctionTexts);
  const resolve = useChange('POST /admin/v1/calls/{id}/resolution');
  const [isOpen, setIsOpen] = useState(false);
  const [action, setAction] = useState<Action>('release');
  const [size, setSize] = useState('');
  const [memo, setMemo] = useState('');
  const open = (): void => {
    resolve.reset();
    setAction('release');
    setSize('');
    setMemo('');
    setIsOpen(true);
  };
  // The button is gone when the call is resolved, so what follows is not left to it.
  const submit = async (): Promise<void> => {
    const body = { ...sizeOf(action, size.trim()), memo: memo.trim() || undefined };
    await resolve.mutateAsync({ path: { id: call.id }, body });
    setIsOpen(false);
    notifications.show({ color: 'teal', message: text.resolved });
  };
  return (
    <>
      <Button {...(isSmall ? { size: 'compact-sm', variant: 'default' } : {})} onClick={open}>
        {text.resolve}
      </Button>
      <FormDialog
        title={text.resolveTitle}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={text.resolve}
        onSubmit={() => void submit().catch(() => undefined)}
        isBusy={resolve.isPending}
        error={resolve.error}
        size="lg"
      >
        <Text size="sm">{text.resolveHint}</Text>
        <Decision call={call} action={action} onChange={setAction} />
        <Size call={call} action={action} size={size} onChange={setSize} />
        <TextInput
          label={text.memo}
          description={text.memoHint}
          maxLength={200}
          value={memo}
          onChange={({ currentTarget }) => setMemo(currentTarget.value)}
        />
      </FormDialog>
    </>
  );
}

/** What the gateway refuses, such as more than was reserved, the dialog says. A count that is none is sent as it is, and refused. */
function sizeOf(action: Action, size: string) {
  switch (action) {
    case 'charge':
      return { action, chargeYuan: size };
    case 'count':
      return { action, tokens: size === '' ? null : Number(size) };
    case 'release':
      return { action };
  }
}

interface DecisionProps {
  readonly call: Call;
  readonly action: Action;
  readonly onChange: (action: Action) => void;
}

function Decision({ call, action, onChange }: DecisionProps) {
  const text = useTexts(correctionTexts);
  const isOnPlan = call.context === 'coding';
  return (
    <Radio.Group label={text.decision} value={action} onChange={(chosen) => onChange(chosen as Action)}>
      <Stack gap="xs" mt={4}>
        {!isOnPlan && <Radio value="charge" label={text.charge} />}
        {isOnPlan && <Radio value="count" label={text.count} disabled={call.heldTokens === null} />}
        <Radio value="release" label={text.release} />
        {isOnPlan && call.heldTokens === null && <Text size="sm">{text.tokensUnknown}</Text>}
      </Stack>
    </Radio.Group>
  );
}

interface SizeProps extends Omit<DecisionProps, 'onChange'> {
  readonly size: string;
  readonly onChange: (size: string) => void;
}

function Size({ call, action, size, onChange }: SizeProps) {
  const text = useTexts(correctionTexts);
  const format = useFormat();
  if (action === 'release') return null;
  const isCharge = action === 'charge';
  return (
    <TextInput
      label={isCharge ? text.amount : text.tokens}
      description={
        isCharge
          ? text.chargeHint(format.yuan(call.heldYuan ?? '0'))
          : text.tokensHint(format.count(call.heldTokens ?? 0))
      }
      inputMode={isCharge ? 'decimal' : 'numeric'}
      value={size}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      required
    />
  );
}
