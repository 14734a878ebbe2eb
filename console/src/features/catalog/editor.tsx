import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useRef, useState } from 'react';
import { ProblemList } from '../../parts/catalog/problem-list.tsx';
import { Review } from '../../parts/catalog/review.tsx';
import { catalogTexts } from '../../parts/catalog/texts.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useCheck } from '../../parts/catalog/use-check.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { revisionTexts } from './texts.ts';

interface TextDraft {
  readonly base: number | null;
  readonly text: string;
}

/** The whole text, checked before it is published. An unchanged text follows the catalog. */
export function CatalogEditor({ catalog: { state, canEdit } }: { readonly catalog: Catalog }) {
  const text = useTexts(revisionTexts);
  const words = useTexts(catalogTexts);
  const [draft, setDraft] = useState<TextDraft | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const { checked, check, reset, isPending, error } = useCheck();
  const { base, text: current } = draft ?? state;
  const hasNewer = draft !== null && state.base !== null && draft.base !== state.base;
  const isReview = checked !== null && checked.check.problems.length === 0;
  const discard = (): void => {
    setDraft(null);
    reset();
  };
  return (
    <Stack>
      <Section
        title={text.editor}
        lead={canEdit ? text.editorHint : undefined}
        actions={<CopyIconButton value={current} label={text.editor} />}
      >
        <Stack gap="sm">
          <Textarea
            ref={area}
            aria-label={text.editor}
            value={current}
            onChange={({ currentTarget }) => {
              setDraft({ base, text: currentTarget.value });
              reset();
            }}
            readOnly={!canEdit}
            rows={26}
            wrap="off"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: 1.5 } }}
          />
          {canEdit && (
            <Group justify="space-between">
              <Text size="sm" c="dimmed" role="status">
                {base !== null && text.editFrom(String(base))} {hasNewer && text.newer(String(state.base))}
              </Text>
              <Group gap="xs">
                <Button variant="default" disabled={draft === null} onClick={discard}>
                  {text.discard}
                </Button>
                <Button
                  loading={isPending}
                  disabled={draft === null || draft.text === state.text}
                  onClick={() => draft !== null && check(draft)}
                >
                  {words.check}
                </Button>
              </Group>
            </Group>
          )}
          <ErrorNotice error={error} />
          {checked !== null && (
            <ProblemList
              problems={checked.check.problems}
              onLine={(line) => area.current !== null && showLine(area.current, line)}
            />
          )}
        </Stack>
      </Section>
      {isReview && (
        <Section>
          <Review checked={checked} onBack={reset} onPublished={discard} onCheck={check} />
        </Section>
      )}
    </Stack>
  );
}

/** Selects a line and scrolls to it. */
function showLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(line - 4, 0);
}
