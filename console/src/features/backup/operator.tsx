import { Alert, Button, Progress, Stack, Text } from '@mantine/core';
import { DownloadIcon, SquareIcon } from '@primer/octicons-react';
import { useEffect, useRef, useState } from 'react';
import { send } from '../../api/client.ts';
import { saveFile } from '../../parts/csv-button.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { Page, usePageTitle } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { backupTexts } from './texts.ts';

type Run =
  | { readonly state: 'none' }
  | { readonly state: 'running' | 'saved'; readonly bytes: number }
  | { readonly state: 'failed'; readonly error: Error };

export function BackupPage() {
  const text = useTexts(backupTexts);
  const title = usePageTitle();
  const format = useFormat();
  const mayOperate = useMayOperate();
  const [run, setRun] = useState<Run>({ state: 'none' });
  const stopping = useRef<AbortController | null>(null);
  // Leaving the page stops the download.
  useEffect(() => () => stopping.current?.abort(), []);

  async function download(): Promise<void> {
    const controller = new AbortController();
    stopping.current = controller;
    setRun({ state: 'running', bytes: 0 });
    try {
      const parts = await received(controller.signal, (bytes) => setRun({ state: 'running', bytes }));
      saveFile(`faregate-${new Date().toISOString().slice(0, 10)}.jsonl`, parts, 'application/x-ndjson');
      setRun({ state: 'saved', bytes: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) });
    } catch (error) {
      setRun(controller.signal.aborted ? { state: 'none' } : { state: 'failed', error: error as Error });
    }
  }

  const isRunning = run.state === 'running';
  return (
    <Page lead={text.lead}>
      <Section>
        <Stack align="flex-start">
          <Text size="sm" maw={720}>
            {text.contains}
          </Text>
          <Text size="sm" maw={720}>
            {text.left}
          </Text>
          <Text size="sm">{text.restore}</Text>
          {!mayOperate && <Text size="sm">{text.personOnly}</Text>}
          {mayOperate && !isRunning && (
            <Button leftSection={<DownloadIcon />} onClick={() => void download()}>
              {text.download}
            </Button>
          )}
          {isRunning && (
            <>
              <Progress value={100} animated w="100%" aria-label={title} />
              <Text role="status">{text.received(format.bytes(run.bytes))}</Text>
              <Button variant="default" leftSection={<SquareIcon />} onClick={() => stopping.current?.abort()}>
                {text.stop}
              </Button>
            </>
          )}
          {run.state === 'saved' && <Alert color="teal">{text.saved(format.bytes(run.bytes))}</Alert>}
          <ErrorNotice error={run.state === 'failed' ? run.error : null} onRetry={() => void download()} />
        </Stack>
      </Section>
    </Page>
  );
}

/** Reads the file in chunks. Fails if the connection is lost. */
async function received(signal: AbortSignal, onBytes: (bytes: number) => void): Promise<Uint8Array<ArrayBuffer>[]> {
  const { body } = await send('POST /admin/v1/export', {}, { accept: 'application/x-ndjson', signal });
  const reader = body!.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    parts.push(next.value);
    bytes += next.value.byteLength;
    onBytes(bytes);
  }
  return parts;
}
