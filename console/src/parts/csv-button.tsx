import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { DownloadIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { type AnyInput, type InputOf, type ReadName, send } from '../api/client.ts';
import { useChosenAccount } from '../api/queries.ts';
import { useTexts } from '../text/language.tsx';
import { GatewayMessage } from './gateway-message.tsx';
import { commonTexts } from './texts.ts';

interface CsvButtonProps<Name extends ReadName> {
  readonly endpoint: Name;
  readonly input: InputOf<Name>;
  readonly fileName: string;
}

/** Downloads the page's data in the gateway's CSV format. */
export function CsvButton<Name extends ReadName>({ endpoint, input, fileName }: CsvButtonProps<Name>) {
  const text = useTexts(commonTexts);
  const choose = useChosenAccount();
  const [isBusy, setIsBusy] = useState(false);
  const download = async (): Promise<void> => {
    setIsBusy(true);
    try {
      const response = await send(endpoint, choose(endpoint, input as AnyInput), { accept: 'text/csv' });
      saveFile(fileName, await response.text(), 'text/csv');
    } catch (error) {
      notifications.show({
        color: 'red',
        title: text.failed,
        message: <GatewayMessage>{(error as Error).message}</GatewayMessage>,
      });
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <Button variant="default" leftSection={<DownloadIcon />} loading={isBusy} onClick={() => void download()}>
      {text.download}
    </Button>
  );
}

export function saveFile(fileName: string, content: string | BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(typeof content === 'string' ? [content] : content, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}
