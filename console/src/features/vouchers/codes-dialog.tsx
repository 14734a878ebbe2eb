import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { DownloadIcon } from '@primer/octicons-react';
import type { NewVoucherBatch } from '../../api/types.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { saveFile } from '../../parts/csv-button.tsx';
import { useTexts } from '../../text/language.tsx';
import { batchCsv } from './batch-csv.ts';
import { vouchersTexts } from './operator-texts.ts';

interface CodesDialogProps {
  /** `null`: closed. */
  readonly batch: NewVoucherBatch | null;
  readonly onClose: () => void;
}

/** So many codes are written on the page; the file has all of them. */
const SHOWN_MAX = 100;

/** The codes of a batch that was just made. It closes by its button alone, so that no click beside it loses them. */
export function CodesDialog({ batch, onClose }: CodesDialogProps) {
  const text = useTexts(vouchersTexts);
  if (batch === null) return null;
  const shown = batch.codes.slice(0, SHOWN_MAX).join('\n');
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.codesTitle(batch.name)}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert color="teal" title={text.codesHint} />
        <div style={{ maxHeight: 320, overflow: 'auto' }}>
          <CodeBlock code={batch.codes.length > SHOWN_MAX ? `${shown}\n…` : shown} label={text.codes} />
        </div>
        <Group justify="flex-end">
          <Button
            data-autofocus
            leftSection={<DownloadIcon />}
            onClick={() => saveFile(`vouchers-${batch.id}.csv`, batchCsv(batch), 'text/csv')}
          >
            {text.saveCsv}
          </Button>
          <Button variant="default" onClick={onClose}>
            {text.done}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
