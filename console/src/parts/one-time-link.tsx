import { Stack, Text } from '@mantine/core';
import type { OneTimeLink } from '../api/types.ts';
import { useTexts } from '../text/language.tsx';
import { SecretOnce } from './copy.tsx';
import { Instant } from './figures.tsx';
import { SmallButton } from './small.ts';
import { pageTexts } from './texts.ts';

const texts = pageTexts(
  {
    hint: (name: string) => `Send this link to ${name} yourself. It works once, and is never shown again.`,
    mailed: (email: string) => `This link is being sent to ${email}. It works once, and is never shown again.`,
    until: 'Works until',
  },
  {
    mailed: (email: string) => `正在将此链接发送至 ${email}。仅可使用一次，之后不再显示。`,
    hint: (name: string) => `请自行将此链接发送给 ${name}。仅可使用一次，之后不再显示。`,
    until: '有效期至',
  },
);

export interface ShownLink extends Pick<OneTimeLink, 'link' | 'linkExpiresAt' | 'linkHint' | 'linkMailedTo'> {
  readonly name: string;
}

interface OneTimeLinkNoticeProps {
  readonly link: ShownLink | null;
  readonly onClose: () => void;
}

/** A new one-time link, until the user closes it. */
export function OneTimeLinkNotice({ link, onClose }: OneTimeLinkNoticeProps) {
  const text = useTexts(texts);
  if (link === null) return null;
  return (
    <Stack gap="xs" align="flex-start" mb="md" role="status">
      <SecretOnce
        secret={link.link}
        hint={link.linkMailedTo === null ? text.hint(link.name) : text.mailed(link.linkMailedTo)}
      />
      <Text size="sm">
        {text.until} <Instant at={link.linkExpiresAt} />
      </Text>
      {link.linkHint !== null && <Text size="sm">{link.linkHint}</Text>}
      <SmallButton onClick={onClose}>{text.done}</SmallButton>
    </Stack>
  );
}
