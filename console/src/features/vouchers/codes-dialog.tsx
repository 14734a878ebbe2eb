import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { DownloadIcon } from '@primer/octicons-react';
import type { NewVoucherBatch } from '../../api/types.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { saveFile } from '../../parts/csv-button.tsx';
import { useTexts } from '../../text/language.tsx';
import { batchCsv } from './batch-csv.ts';
import { vouchersTexts } from './operator-texts.ts';

interface CodesDialogProps {
  readonly batch: NewVoucherBatch | null;
  readonly onClose: () => void;
}

/** Codes shown on the page. The file has all codes. */
const SHOWN_MAX = 100;

/** The codes of a new batch. Only the button closes the dialog, so that a stray click does not lose the codes. */
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
