import { Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import type { Call } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { correctionTexts } from './resolution-texts.ts';

type Action = NonNullable<Call['resolution']>['action'];

const noDecision = () => ({ action: 'release' as Action, size: '', memo: '' });

interface ResolutionButtonProps {
  readonly call: Call;
  readonly isSmall?: boolean;
}

/** Decides, once, what becomes of a call whose outcome nobody knows. */
export function ResolutionButton({ call, isSmall = false }: ResolutionButtonProps) {
  const text = useTexts(correctionTexts);
  const [open, dialog] = useDialog();
  const [{ action, size, memo }, field] = useDraft(noDecision, dialog.isOpen);
  return (
    <>
      <Button {...(isSmall ? { size: 'compact-sm', variant: 'default' } : {})} onClick={open}>
        {text.resolve}
      </Button>
      <ChangeDialog
        endpoint="POST /admin/v1/calls/{id}/resolution"
        title={text.resolveTitle}
        submitLabel={text.resolve}
        size="lg"
        {...dialog}
        input={() => ({
          path: { id: call.id },
          body: { ...sizeOf(action, size.trim()), memo: memo.trim() || undefined },
        })}
        doneText={text.resolved}
      >
        <Text size="sm">{text.resolveHint}</Text>
        <Decision call={call} {...field('action')} />
        <Size call={call} action={action} {...field('size')} />
        <TextInput label={text.memo} description={text.memoHint} maxLength={200} {...field('memo')} />
      </ChangeDialog>
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
  readonly value: Action;
  readonly onChange: (action: Action) => void;
}

function Decision({ call, value, onChange }: DecisionProps) {
  const text = useTexts(correctionTexts);
  const isOnPlan = call.context === 'coding';
  return (
    <Radio.Group label={text.decision} value={value} onChange={(chosen) => onChange(chosen as Action)}>
      <Stack gap="xs" mt={4}>
        {!isOnPlan && <Radio value="charge" label={text.charge} />}
        {isOnPlan && <Radio value="count" label={text.count} disabled={call.heldTokens === null} />}
        <Radio value="release" label={text.release} />
        {isOnPlan && call.heldTokens === null && <Text size="sm">{text.tokensUnknown}</Text>}
      </Stack>
    </Radio.Group>
  );
}

interface SizeProps {
  readonly call: Call;
  readonly action: Action;
  readonly value: string;
  readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void;
}

function Size({ call, action, ...field }: SizeProps) {
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
      required
      {...field}
    />
  );
}
