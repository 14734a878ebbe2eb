import { Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import type { Call } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
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
  const [isOpen, { open, close }] = useDisclosure(false);
  const [{ action, size, memo }, set] = useDraft(noDecision, isOpen);
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
        isOpen={isOpen}
        onClose={close}
        input={() => ({
          path: { id: call.id },
          body: { ...sizeOf(action, size.trim()), memo: memo.trim() || undefined },
        })}
        onDone={() => notifications.show({ color: 'teal', message: text.resolved })}
      >
        <Text size="sm">{text.resolveHint}</Text>
        <Decision call={call} action={action} onChange={(chosen) => set({ action: chosen })} />
        <Size call={call} action={action} size={size} onChange={(entered) => set({ size: entered })} />
        <TextInput
          label={text.memo}
          description={text.memoHint}
          maxLength={200}
          value={memo}
          onChange={({ currentTarget }) => set({ memo: currentTarget.value })}
        />
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
