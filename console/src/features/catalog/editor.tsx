import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import type { CheckedCatalog } from '../../api/types.ts';
import { ProblemList } from '../../parts/catalog/problem-list.tsx';
import { Review } from '../../parts/catalog/review.tsx';
import { catalogTexts } from '../../parts/catalog/texts.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useCheck } from '../../parts/catalog/use-check.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { loadedLater } from '../../parts/loaded-later.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import type { CodeEditorProps } from './code-editor.tsx';
import { revisionTexts } from './texts.ts';
import { useProposals } from './use-proposals.ts';

interface TextDraft {
  readonly base: number | null;
  readonly text: string;
}

/** The whole text, checked before it is published. An unchanged text follows the catalog. */
export function CatalogEditor({ catalog: { state, canEdit } }: { readonly catalog: Catalog }) {
  const text = useTexts(revisionTexts);
  const words = useTexts(catalogTexts);
  const [draft, setDraft] = useState<TextDraft | null>(null);
  const [selected, setSelected] = useState<{ readonly line: number } | null>(null);
  const propose = useProposals(canEdit);
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
          <CodeEditor.Component
            label={text.editor}
            value={current}
            onChange={(changed) => {
              setDraft({ base, text: changed });
              reset();
            }}
            isReadOnly={!canEdit}
            propose={propose}
            check={async (changed) => (changed === state.text ? [] : problemsOf(base, changed))}
            selected={selected}
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
            <ProblemList problems={checked.check.problems} onLine={(line) => setSelected({ line })} />
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

const CodeEditor = loadedLater<CodeEditorProps>(async () => (await import('./code-editor.tsx')).CodeEditor);

/** The problems of a text; none if the check fails, which the button reports. */
async function problemsOf(base: number | null, text: string): Promise<CheckedCatalog['problems']> {
  const checked = await ask('POST /admin/v1/catalog/check', { body: { base, text } }).catch(() => null);
  return checked?.problems ?? [];
}
