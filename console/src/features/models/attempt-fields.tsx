import { Button, Collapse, Fieldset, Stack } from '@mantine/core';
import { ChevronDownIcon, ChevronUpIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { useFallbackFields } from '../../parts/catalog/fallback-fields.ts';
import { SettingFields } from '../../parts/catalog/setting-fields.tsx';
import { type Entry, memberAt } from '../../parts/catalog/use-entry.ts';
import { useTexts } from '../../text/language.tsx';
import { attemptFieldTexts } from './attempt-field-texts.ts';

interface AttemptFieldsProps {
  readonly entry: Entry;
  /** The models that can serve instead of this one. */
  readonly models: readonly string[];
}

const SETTINGS = ['keepAlive', 'retry', 'fallbacks', 'fallbackOn', 'fallbackCharge'];

/** What follows if the routes of a model are silent, fail or are closed. Folded unless something is set. */
export function AttemptFields({ entry, models }: AttemptFieldsProps) {
  const text = useTexts(attemptFieldTexts);
  const [isOpen, setIsOpen] = useState(SETTINGS.some((setting) => memberAt(entry.value, setting) !== undefined));
  const fallbackFields = useFallbackFields(entry, 'model', models);
  return (
    <Stack gap="xs">
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={isOpen ? <ChevronUpIcon /> : <ChevronDownIcon />}
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
        style={{ alignSelf: 'flex-start' }}
      >
        {text.failures}
      </Button>
      <Collapse expanded={isOpen}>
        <Fieldset legend={text.failures}>
          <SettingFields
            entry={entry}
            fields={[
              {
                setting: 'keepAlive.before',
                label: text.keepAlive,
                description: text.keepAliveHint,
                placeholder: '15s',
              },
              {
                setting: 'retry.on',
                label: text.retryOn,
                description: text.retryHint,
                kind: 'names',
                options: RETRIED.map((value) => ({ value, label: text.retried[value] ?? value })),
              },
              { setting: 'retry.within', label: text.within, placeholder: '1', kind: 'count' },
              {
                setting: 'retry.firstByte',
                label: text.firstByte,
                description: text.firstByteHint,
                placeholder: '20s',
              },
              ...fallbackFields,
            ]}
          />
        </Fieldset>
      </Collapse>
    </Stack>
  );
}

const RETRIED = ['500', '502', '503', '504', '520', '522', '524', '529', 'timeout', 'reset', 'silence'] as const;
