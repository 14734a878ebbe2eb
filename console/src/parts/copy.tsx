import { ActionIcon, Alert, Code, CopyButton, Group, Tooltip } from '@mantine/core';
import { CheckIcon, CopyIcon } from '@primer/octicons-react';
import { defineTexts, useTexts } from '../text/language.tsx';

const texts = defineTexts(
  {
    copy: 'Copy',
    copied: 'Copied',
    cannotCopy: 'This browser does not let the page copy. Select the text and copy it yourself.',
  },
  {
    copy: '复制',
    copied: '已复制',
    cannotCopy: '浏览器不允许本页复制。请选中文本后自行复制。',
  },
);

/** Copies a text. Hidden if there is no clipboard API, as on plain http. */
export function CopyIconButton({ value, label }: { readonly value: string; readonly label?: string }) {
  const text = useTexts(texts);
  if (navigator.clipboard === undefined) return null;
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? text.copied : (label ?? text.copy)}>
          <ActionIcon variant="subtle" color={copied ? 'teal' : 'gray'} onClick={copy} aria-label={label ?? text.copy}>
            {copied ? <CheckIcon /> : <CopyIcon />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

export function CopyText({ value }: { readonly value: string }) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <Code style={{ overflowWrap: 'anywhere' }}>{value}</Code>
      <CopyIconButton value={value} />
    </Group>
  );
}

interface CodeBlockProps {
  readonly code: string;
  /** What is shown in place of all of the code, which is copied. */
  readonly shown?: string;
  readonly label: string;
}

export function CodeBlock({ code, shown = code, label }: CodeBlockProps) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Code block role="region" aria-label={label} tabIndex={0} style={{ overflowX: 'auto', flex: 1, minWidth: 0 }}>
        {shown}
      </Code>
      <CopyIconButton value={code} label={label} />
    </Group>
  );
}

export function SecretOnce({ secret, hint }: { readonly secret: string; readonly hint: string }) {
  const text = useTexts(texts);
  return (
    <Alert color="teal" title={hint}>
      <CopyText value={secret} />
      {navigator.clipboard === undefined && <div>{text.cannotCopy}</div>}
    </Alert>
  );
}
