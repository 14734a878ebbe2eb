import { ActionIcon, Button, FileButton, Group, Stack, Text, Textarea } from '@mantine/core';
import { ImageIcon, XIcon } from '@primer/octicons-react';
import { type ClipboardEvent, type KeyboardEvent, useState } from 'react';
import { callingTexts } from '../../parts/calling/texts.ts';
import { Form } from '../../parts/forms/form.tsx';
import { useTexts } from '../../text/language.tsx';
import type { AttachedImage, Said } from './conversation.ts';
import { playgroundTexts } from './texts.ts';
import { IMAGE_TYPES, IMAGES_MAX, type ImageProblem, useImages } from './use-images.ts';

interface MessageFormProps {
  readonly isBusy: boolean;
  /** Whether a key is given and the settings are valid. */
  readonly isReady: boolean;
  readonly hasKey: boolean;
  readonly onSend: (said: Said) => void;
  readonly onStop: () => void;
}

/** The message that the user writes, with images. */
export function MessageForm({ isBusy, isReady, hasKey, onSend, onStop }: MessageFormProps) {
  const text = { ...useTexts(callingTexts), ...useTexts(playgroundTexts) };
  const [prompt, setPrompt] = useState('');
  const { images, problem, attach, remove, set } = useImages();
  const canSend = isReady && !isBusy && (prompt.trim() !== '' || images.length > 0);

  function send(): void {
    if (!canSend) return;
    onSend({ prompt: prompt.trim(), images });
    setPrompt('');
    set([]);
  }

  function onKeyDown(event: KeyboardEvent): void {
    // Enter also chooses a word of an input method, as for Chinese.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  function onPaste(event: ClipboardEvent): void {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  }

  return (
    <Form
      submitLabel={text.send}
      onSubmit={send}
      isDisabled={!canSend}
      beside={
        <>
          {isBusy && (
            <Button variant="default" onClick={onStop}>
              {text.stop}
            </Button>
          )}
          <FileButton multiple accept={IMAGE_TYPES.join(',')} onChange={(files) => void attach(files)}>
            {(button) => (
              <Button variant="default" leftSection={<ImageIcon />} {...button}>
                {text.attach}
              </Button>
            )}
          </FileButton>
          {!hasKey && <Text c="dimmed">{text.needsKey}</Text>}
        </>
      }
    >
      <Stack gap="xs">
        <Textarea
          label={text.message}
          description={text.messageHint}
          value={prompt}
          onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          autosize
          minRows={2}
          maxRows={10}
        />
        {problem !== null && (
          <Text c="var(--mantine-color-error)" size="sm" role="alert">
            {wordsOf(problem, text)}
          </Text>
        )}
        <ImageList images={images} onRemove={remove} />
      </Stack>
    </Form>
  );
}

function wordsOf(problem: ImageProblem, text: ReturnType<typeof useTexts<(typeof playgroundTexts)['en']>>): string {
  return problem.kind === 'tooMany' ? text.tooManyImages(String(IMAGES_MAX)) : text.imageRefused(problem.name);
}

interface ImageListProps {
  readonly images: readonly AttachedImage[];
  /** Absent: the images were sent. */
  readonly onRemove?: (image: AttachedImage) => void;
}

export function ImageList({ images, onRemove }: ImageListProps) {
  const text = useTexts(playgroundTexts);
  if (images.length === 0) return null;
  return (
    <Group gap="xs">
      {images.map((image) => (
        <Group key={image.id} gap={2} wrap="nowrap" align="flex-start">
          <img src={image.dataUrl} alt={image.name} style={{ maxWidth: 120, maxHeight: 120, objectFit: 'contain' }} />
          {onRemove !== undefined && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={text.removeImage(image.name)}
              onClick={() => onRemove(image)}
            >
              <XIcon />
            </ActionIcon>
          )}
        </Group>
      ))}
    </Group>
  );
}
