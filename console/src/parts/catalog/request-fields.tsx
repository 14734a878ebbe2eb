import { Button, Collapse, NativeSelect, SimpleGrid, Stack, TagsInput, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../../text/language.tsx';
import { type Fields, fieldsOf, textOf, textsOf } from './catalog-value.ts';
import { fieldsIn, linesOf } from './field-lines.ts';
import { requestTexts } from './request-texts.ts';
import { catalogTexts } from './texts.ts';

/** Fields that few operators need. They are hidden until the button is pressed. */
export function FoldedFields({ label, children }: { readonly label?: string; readonly children: ReactNode }) {
  const text = useTexts(requestTexts);
  const [isUnfolded, setIsUnfolded] = useState(false);
  return (
    <Stack gap="xs" style={{ flex: '1 1 100%' }}>
      <Button
        variant="subtle"
        size="compact-sm"
        style={{ alignSelf: 'flex-start' }}
        aria-label={label}
        aria-expanded={isUnfolded}
        onClick={() => setIsUnfolded(!isUnfolded)}
      >
        {text.fold}
      </Button>
      <Collapse expanded={isUnfolded}>{children}</Collapse>
    </Stack>
  );
}

interface ChangedProps<Value> {
  readonly value: unknown;
  readonly onChange: (value: Value) => void;
}

/** The parameters of a provider or a route. */
export function ParameterFields({ value, onChange }: ChangedProps<Fields>) {
  const text = useTexts(requestTexts);
  const parameters = fieldsOf(value);
  const removed = textsOf(parameters.remove);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      {(['set', 'default', 'max'] as const).map((action) => (
        <LinesField
          key={action}
          label={text[action]}
          description={text[`${action}Hint`]}
          value={parameters[action]}
          onChange={(members) => onChange({ ...parameters, [action]: members })}
        />
      ))}
      <TagsInput
        label={text.remove}
        description={text.removeHint}
        value={removed}
        onChange={(remove) => onChange({ ...parameters, remove })}
        acceptValueOnBlur
      />
    </SimpleGrid>
  );
}

interface LinesFieldProps extends ChangedProps<Fields> {
  readonly label: string;
  readonly description: string;
}

function LinesField({ label, description, value, onChange }: LinesFieldProps) {
  const text = useTexts(requestTexts);
  const [entered, setEntered] = useState(linesOf(value));
  const isRight = fieldsIn(entered) !== null;
  return (
    <Textarea
      ref={(area) => area?.setCustomValidity(isRight ? '' : text.linesWrong)}
      label={label}
      description={description}
      value={entered}
      error={!isRight && text.linesWrong}
      autosize
      minRows={1}
      maxRows={8}
      autoComplete="off"
      spellCheck={false}
      onChange={({ currentTarget }) => {
        const lines = currentTarget.value;
        setEntered(lines);
        const members = fieldsIn(lines);
        if (members !== null) onChange(members);
      }}
    />
  );
}

/** The name of the model in responses. */
export function ShowModelField({ value, onChange }: ChangedProps<string>) {
  const text = useTexts(requestTexts);
  const { byDefault } = useTexts(catalogTexts);
  return (
    <NativeSelect
      label={text.showModel}
      value={textOf(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: byDefault },
        ...(['provider', 'asked'] as const).map((shown) => ({ value: shown, label: text.shown[shown] })),
      ]}
    />
  );
}
