import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { useTexts } from '../../text/language.tsx';
import type { DialogProps } from '../forms/use-dialog.ts';
import { ErrorNotice, Loading } from '../notices.tsx';
import type { CatalogEdit } from './edits.ts';
import { ProblemList } from './problem-list.tsx';
import { Review } from './review.tsx';
import { catalogTexts } from './texts.ts';
import type { Catalog } from './use-catalog.ts';
import { useCheck } from './use-check.ts';

interface CatalogDialogProps extends DialogProps {
  readonly title: string;
  readonly catalog: Catalog;
  /** The edits of the form. What they do not name is left as it is. */
  readonly edits: () => readonly CatalogEdit[];
  /** Validation error, or `null`. */
  readonly problem?: () => string | null;
  readonly size?: string;
  /** Without a form, the difference is shown at once. */
  readonly children?: ReactNode;
}

/** A form of the catalog: its edits are checked, their difference is shown, and then they are published with a reason. */
export function CatalogDialog(props: CatalogDialogProps) {
  const { title, size = 'xl', isOpen, onClose } = props;
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} size={size} closeOnClickOutside={false}>
      <Steps {...props} />
    </Modal>
  );
}

/** Mounted while the dialog is open, so that it begins with the form. */
function Steps({ catalog, edits, problem, onClose, children }: CatalogDialogProps) {
  const text = useTexts(catalogTexts);
  // What others publish while the form is open must not become its base.
  const [base] = useState(catalog.state.base);
  const [found, setFound] = useState<string | null>(null);
  const { checked, check: send, reset, isPending, error } = useCheck();
  const hasForm = children !== undefined;
  const check = (): void => {
    const wrong = problem?.() ?? null;
    const made = wrong === null ? edits() : [];
    setFound(wrong ?? (made.length === 0 ? text.unchanged : null));
    if (made.length > 0) send({ base, edits: made });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, without a form
  useEffect(() => {
    if (!hasForm) check();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    check();
  };
  const isReview = checked !== null && checked.check.problems.length === 0;
  return (
    <>
      {isReview && <Review checked={checked} onBack={hasForm ? reset : onClose} onPublished={onClose} onCheck={send} />}
      <form onSubmit={submit} hidden={isReview}>
        <Stack>
          {children}
          {!hasForm && isPending && <Loading />}
          {checked !== null && <ProblemList problems={checked.check.problems} />}
          {found !== null && (
            <Text role="alert" size="sm" c="red">
              {found}
            </Text>
          )}
          <ErrorNotice error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {text.cancel}
            </Button>
            {hasForm && (
              <Button type="submit" loading={isPending}>
                {text.review}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </>
  );
}
